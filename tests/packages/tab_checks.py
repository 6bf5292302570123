#!/usr/bin/python3
"""Looks at sotto-tab.html in a real browser, as a file.

tab_checks.py PAGE SHA256 CSV CSV_SHA256   checks it: what the made-up default and the file train to
tab_checks.py PAGE --picture FILE.png      draws examples/tab/tab.png

Exit status 77 without Chromium and Selenium (packages chromium, chromium-driver, python3-selenium).
"""

import pathlib
import shutil
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "page"))
import page_checks  # noqa: E402

page_checks.PATIENCE_S = 300  # of a machine that does much else
OUT = " --model-out model.f32 && sha256sum model.f32"
By = page_checks.By if page_checks.webdriver else None


def is_ready(browser, state):
    browser.wait(f"the state is {state}",
                 f"return document.getElementById('state').textContent.startsWith('{state}')")


def set_field(browser, name, value):
    field = browser.driver.find_element(By.ID, name)
    field.clear()
    field.send_keys(value)


def check_default(browser, digest):
    """A double click trains, to the native program's digest, without a word of the browser."""
    is_ready(browser, "Trained: ")
    assert browser.text("#digest") == digest, f"{browser.text('#digest')}, not {digest}"
    assert browser.text("#comparison").startswith("The same digest"), browser.text("#comparison")
    command = browser.text("#command")
    assert command == f"sotto simulate --data synthetic --seed 1{OUT}", command
    for words in ("at delta 1e-5", "replace-one", "trusted-server", "not private"):
        assert words in browser.text("#privacy"), words
    assert browser.js("return document.querySelectorAll('.chart path').length") == 4
    assert not browser.complaints()


def check_silence(browser):
    """Nothing was asked for on the way, and the page can ask for nothing."""
    asked = [url for url in browser.requested() if not url.startswith(("file:", "blob:", "data:"))]
    assert not asked, asked
    for attempt in ("fetch('http://127.0.0.1:1/')", "fetch('data:,x')",
                    "fetch(new Request('http://127.0.0.1:1/', {mode: 'no-cors'}))"):
        said = browser.driver.execute_async_script(
            "const done = arguments[0]; let why = null;"
            "document.addEventListener('securitypolicyviolation', event => why = event.effectiveDirective, {once: true});"
            f"{attempt}.then(() => done('went'), () => setTimeout(() => done(why), 100));")
        assert said == "connect-src", f"{attempt}: {said}"
    assert browser.js("""try { new WebSocket('ws://127.0.0.1:1/'); return 'went' } catch (error) { return 'refused' }
                      """) in ("refused", "went")  # refused later, by an event
    assert not [url for url in browser.requested() if "127.0.0.1" in url], "something went out"
    browser.complaints()


def check_file(browser, csv, digest):
    """A file is read, trained on, and compared by its command."""
    browser.driver.find_element(By.ID, "file").send_keys(str(csv))
    is_ready(browser, "Ready to train")
    assert browser.text("#data-name") == "readings.csv: 1800 samples of 8 numbers, 3 classes", browser.text("#data-name")
    set_field(browser, "devices", "100")
    browser.driver.find_element(By.ID, "train").click()
    is_ready(browser, "Trained: ")
    assert browser.text("#digest") == digest, f"{browser.text('#digest')}, not {digest}"
    command = browser.text("#command")
    assert command == ("sotto simulate --data readings.csv --model net.toml --devices 100 --samples-per-device 10 "
                       f"--seed 1{OUT}"), command
    assert not browser.complaints()


def check_drop(browser, csv):
    """The same file, dropped."""
    browser.js("useMadeUp()")
    browser.js("""const data = new DataTransfer();
               data.items.add(new File([arguments[0]], "dropped.csv"));
               document.dispatchEvent(new DragEvent("drop", {dataTransfer: data, bubbles: true, cancelable: true}));""",
               csv.read_text())
    is_ready(browser, "Ready to train")
    assert browser.text("#data-name").startswith("dropped.csv: "), browser.text("#data-name")


def check_errors(browser, folder):
    """The program's own messages: of a file, and of an option."""
    bad = folder / "bad.csv"
    bad.write_text("x,y,label\n1,2,a\n1,zwei,b\n")
    browser.driver.find_element(By.ID, "file").send_keys(str(bad))
    is_ready(browser, "Not read")
    assert "bad.csv" in browser.text("#message") and "line 3" in browser.text("#message"), browser.text("#message")
    browser.js("useMadeUp()")
    set_field(browser, "epsilon", "many")
    browser.driver.find_element(By.ID, "train").click()
    is_ready(browser, "Not trained")
    assert "--epsilon" in browser.text("#message"), browser.text("#message")
    assert not browser.complaints()


def check_stop(browser):
    """A run is stopped at once, and another one begins."""
    browser.js("useMadeUp()")
    set_field(browser, "devices", "100000")
    browser.driver.find_element(By.ID, "train").click()
    browser.driver.find_element(By.ID, "stop").click()
    is_ready(browser, "Stopped")
    set_field(browser, "devices", "200")
    set_field(browser, "seed", "")
    browser.driver.find_element(By.ID, "train").click()
    is_ready(browser, "Trained: ")
    assert "Seeded" not in browser.text("#privacy"), browser.text("#privacy")
    assert browser.text("#comparison") == "", browser.text("#comparison")


def check_widths(browser):
    """No width scrolls sideways."""
    for width in (360, 600, 800, 1280, 1920):
        browser.screen(width)
        wide = browser.js("return document.documentElement.scrollWidth")
        assert wide <= width, f"{wide} at {width}"


def picture(browser, page, file):
    browser.screen(1220, 780)
    browser.driver.get(page)
    browser.wait("half is trained", "return document.getElementById('progress').value >= 24")
    browser.driver.save_screenshot(file)


def main():
    if not page_checks.webdriver or not shutil.which("chromium") or not shutil.which("chromedriver"):
        print("skipped: no chromium, chromium-driver or python3-selenium")
        return 77
    page = pathlib.Path(sys.argv[1]).resolve().as_uri()
    with page_checks.Browser(keeps_requests=True) as browser:
        if sys.argv[2] == "--picture":
            picture(browser, page, sys.argv[3])
            return 0
        digest, csv, csv_digest = sys.argv[2], pathlib.Path(sys.argv[3]).resolve(), sys.argv[4]
        browser.driver.get(page)
        for check in (lambda: check_default(browser, digest), lambda: check_silence(browser),
                      lambda: check_file(browser, csv, csv_digest), lambda: check_drop(browser, csv),
                      lambda: check_errors(browser, csv.parent), lambda: check_stop(browser),
                      lambda: check_widths(browser)):
            check()
    return 0


sys.exit(main())
