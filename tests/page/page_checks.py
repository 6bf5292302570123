#!/usr/bin/python3
"""Looks at the operator's page, or at a report, in a real browser.

page_checks.py URL [--token TOKEN] CHECK...

URL is the page of a running `sotto serve --http`, or file:///.../report.html. The checks are the functions
below whose names begin with check_; without their names all that suit the URL run. Exit status 1 if one
fails, 77 without Chromium and Selenium (packages chromium, chromium-driver, python3-selenium).
"""

import argparse
import base64
import contextlib
import http.server
import inspect
import json
import pathlib
import shutil
import sys
import tempfile
import threading
import time
import urllib.parse

try:
    from selenium import webdriver
    from selenium.webdriver.common.by import By
except ImportError:
    webdriver = None

PATIENCE_S = 240


class Browser:
    """A new browser, with an empty profile.

    It keeps what was asked for only if it is to: each event of a busy server's stream is such a line.
    """

    def __init__(self, *arguments, keeps_requests=False):
        options = webdriver.ChromeOptions()
        for argument in ("--headless=new", "--no-sandbox", "--disable-dev-shm-usage", *arguments):
            options.add_argument(argument)
        options.binary_location = shutil.which("chromium")
        logs = {"browser": "ALL", **({"performance": "ALL"} if keeps_requests else {})}
        options.set_capability("goog:loggingPrefs", logs)
        service = webdriver.chrome.service.Service(shutil.which("chromedriver"))
        self.driver = webdriver.Chrome(options=options, service=service)
        self.folder = tempfile.TemporaryDirectory()
        self.cdp("Browser.setDownloadBehavior", behavior="allow", downloadPath=self.folder.name)

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        self.driver.quit()
        self.folder.cleanup()

    def clean(self):
        """As if nobody had used it."""
        self.driver.get("about:blank")
        self.cdp("Network.clearBrowserCookies")
        self.cdp("Network.setBlockedURLs", urls=[])
        self.cdp("Emulation.clearDeviceMetricsOverride")
        self.cdp("Emulation.setEmulatedMedia", media="", features=[])
        self.complaints()
        for file in pathlib.Path(self.folder.name).iterdir():
            file.unlink()

    def cdp(self, command, **parameters):
        return self.driver.execute_cdp_cmd(command, parameters)

    def screen(self, width, height=900, scheme="light"):
        self.cdp("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1,
                 mobile=width < 500)
        self.cdp("Emulation.setEmulatedMedia",
                 features=[{"name": "prefers-color-scheme", "value": scheme}])

    def js(self, text, *arguments):
        return self.driver.execute_script(text, *arguments)

    def text(self, selector):
        return self.driver.find_element(By.CSS_SELECTOR, selector).text

    def wait(self, what, text):
        """Until a script's value is true."""
        until = time.monotonic() + PATIENCE_S
        while not self.js(text):
            assert time.monotonic() < until, f"{what}: not after {PATIENCE_S} s"
            time.sleep(0.05)

    def complaints(self):
        return [entry["message"] for entry in self.driver.get_log("browser")
                if entry["level"] in ("SEVERE", "WARNING")]

    def requested(self):
        """The addresses that were asked for."""
        urls = []
        for entry in self.driver.get_log("performance"):
            message = json.loads(entry["message"])["message"]
            if message["method"] == "Network.requestWillBeSent":
                urls.append(message["params"]["request"]["url"])
        return urls


SHARED = []


@contextlib.contextmanager
def clean_browser():
    """The browser of most checks: to start one takes seconds."""
    if not SHARED:
        SHARED.append(Browser())
    SHARED[0].clean()
    yield SHARED[0]


def shown(browser):
    browser.wait("the page is drawn", "return !document.getElementById('main').hidden")
    browser.js("draw()")


def open_page(browser, url, token):
    browser.driver.get(f"{url}#token={token}" if token else url)
    shown(browser)


def canvases(browser):
    """Charts that are shown, and whether each has ink."""
    return browser.js("""
        return [...document.querySelectorAll("figure.chart:not([hidden])")].map(figure => {
          const canvas = figure.querySelector("canvas");
          if (!canvas) return [figure.id, false];
          const pixels = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data;
          return [figure.id, pixels.some((value, i) => i % 4 === 3 && value > 0)];
        });""")


def check_charts(url, token):
    """Charts have ink, counts have whole ticks, what is constant is a text, nothing complains or comes from elsewhere."""
    with Browser(keeps_requests=True) as browser:
        open_page(browser, url, token)
        browser.wait("charts", "return document.querySelector('#chart-epsilon canvas') !== null")
        drawn = canvases(browser)
        assert all(ink for _, ink in drawn), drawn
        assert "chart-clip" not in [name for name, _ in drawn], drawn
        assert "Clipping" in browser.text("#constants"), browser.text("#constants")
        ticks = browser.js("""
            return shown.charts.filter(chart => chart.plot && !chart.figure.hidden)
              .flatMap(chart => chart.row.x ? [] : [0, ...chart.row.isWhole ? [1] : []].flatMap(at => chart.plot.axes[at]._values));""")
        assert ticks and all(tick == "" or tick.replace(",", "").isdigit() for tick in ticks), ticks
        assert not (found := browser.complaints()), found
        own = urllib.parse.urlsplit(url)
        for address in browser.requested():
            other = urllib.parse.urlsplit(address)
            assert other.scheme in ("data", "blob") or other[:2] == own[:2], address


def check_widths(url, token):
    """No part of the page is wider than a phone, in the light and in the dark."""
    for scheme in ("light", "dark"):
        for width in (360, 768, 1600):
            with clean_browser() as browser:
                browser.screen(width, scheme=scheme)
                open_page(browser, url, token)
                size = browser.js("return document.documentElement.scrollWidth")
                assert size <= width, f"{size} at {width}"
                ground = browser.js("return getComputedStyle(document.body).backgroundColor")
                is_dark = sum(int(part) for part in ground[4:-1].split(",")[:3]) < 3 * 128
                assert is_dark == (scheme == "dark"), (scheme, ground)


def check_picture(url, token):
    """The button of a chart gives a PNG."""
    with clean_browser() as browser:
        open_page(browser, url, token)
        browser.js("document.querySelector('#chart-epsilon button').click()")
        until = time.monotonic() + PATIENCE_S
        while not (files := list(pathlib.Path(browser.folder.name).glob("*.png"))):
            assert time.monotonic() < until, "no picture"
            time.sleep(0.05)
        content = files[0].read_bytes()
        assert content[:8] == b"\x89PNG\r\n\x1a\n" and len(content) > 4000, len(content)
        assert files[0].name.endswith("-epsilon.png"), files[0].name
        assert not (found := browser.complaints()), found


def check_markup(url, token):
    """Texts stay texts."""
    hostile = "<img src=x onerror='document.title=1'></script><b>"
    with clean_browser() as browser:
        open_page(browser, url, token)
        # From now on nothing comes from the server.
        browser.wait("the stream", "return !stream || (stream.readyState === 1 && !isRefreshing)")
        browser.js("stream?.close(); hasEnded = true")
        browser.js("""
            const text = arguments[0];
            shown.overview.log = [text];
            Object.assign(shown.job(), {model: text, reason: text, settings: [[text, text]]});
            for (const claim of shown.job().claims) { claim.against = text; claim.assumptions = [text]; }
            for (const each of shown.job().evaluations) each.data = text;
            draw();""", hostile)
        assert browser.js("return document.querySelectorAll('main img, main b, main script').length") == 0
        assert hostile in browser.text("#title") and hostile in browser.text("#settings")


def check_without_charts(url, token):
    """Without the library of charts there are tables, and it is said."""
    if url.startswith("file:"):
        return
    with clean_browser() as browser:
        browser.cdp("Network.enable")
        browser.cdp("Network.setBlockedURLs", urls=["*/uplot.js"])
        open_page(browser, url, token)
        assert "draws no charts" in browser.text("#no-charts")
        assert browser.js("return document.querySelectorAll('#rounds tbody tr').length") > 0
        assert "epsilon" in browser.text("#claims")


def check_print(url, token):
    """It prints, in light colours."""
    with clean_browser() as browser:
        browser.screen(1200, scheme="dark")
        open_page(browser, url, token)
        pdf = base64.b64decode(browser.cdp("Page.printToPDF", printBackground=True)["data"])
        assert pdf[:4] == b"%PDF" and len(pdf) > 20000, len(pdf)


# What the page says in numbers, beside what its overview holds: [place, text, number or "Infinity" or null].
EPSILONS = """
    draw();
    const job = shown.job();
    const all = [];
    document.querySelectorAll("#claims .claim h3").forEach((element, i) =>
      all.push([`claim ${i}`, element.textContent.split(" ")[1], job.claims[i].epsilon]));
    document.querySelectorAll("#privacy .epsilon").forEach((element, i) =>
      all.push([`first screen, ${i}`, element.textContent, job.claims[i].epsilon]));
    const rounds = job.rounds.slice(-10).reverse();
    document.querySelectorAll("#rounds tbody tr").forEach((row, i) => {
      all.push([`number of row ${i}`, row.cells[0].textContent.replaceAll(",", ""), rounds[i].round]);
      job.claims.forEach((claim, j) =>
        all.push([`row ${i}, ${claim.field}`, row.cells[2 + j].textContent, rounds[i].epsilon[claim.field] ?? null]));
    });
    const plot = shown.charts.find(chart => chart.row.id === "epsilon")?.plot;
    if (plot) {
      const legend = [...document.querySelectorAll("#chart-epsilon .u-legend .u-value")].map(each => each.textContent);
      job.claims.forEach((claim, j) =>
        all.push([`legend, ${claim.field}`, legend[1 + j], job.rounds[job.rounds.length - 1].epsilon[claim.field] ?? null]));
    }
    return all;"""


def compare_epsilons(browser):
    said = browser.js(EPSILONS)
    assert len(said) > 3, said
    for place, text, value in said:
        if value is None:
            assert text == "–", (place, text, value)
        elif value == "Infinity":
            assert text == "∞", (place, text, value)
        else:
            assert 0 <= float(text) - value <= 0.0011, (place, text, value)


def print_it(browser, width):
    """As on paper of this width, in CSS pixels."""
    browser.screen(width)
    browser.cdp("Emulation.setEmulatedMedia", media="print")
    browser.js("dispatchEvent(new Event('beforeprint'))")
    time.sleep(0.5)  # the library of charts draws in the next turn


def check_numbers(url, token):
    """Every epsilon that is shown, in texts, tables and legends, is the one in the overview; also in print."""
    with clean_browser() as browser:
        browser.screen(1200)
        open_page(browser, url, token)
        time.sleep(0.5)
        compare_epsilons(browser)
        print_it(browser, 688)
        compare_epsilons(browser)


# A4 without margins: 182 mm upright, 273 mm on its side, at 96 pixels an inch.
def check_paper(url, token):
    """On paper no column is cut, no word of a table broken, and the texts of charts can be read."""
    with clean_browser() as browser:
        open_page(browser, url, token)
        for width, places in ((688, "#claims, #settings, #first, #charts"), (1032, "#rounds, #jobs")):
            print_it(browser, width)
            cut = browser.js("""
                return [...document.querySelectorAll(arguments[0])].filter(each => each.offsetParent)
                  .map(each => [each.id, each.scrollWidth, each.clientWidth]).filter(([, all, room]) => all > room + 1);
                """, places)
            assert cut == [], (width, cut)
        print_it(browser, 688)
        scales = browser.js("""
            return [...document.querySelectorAll("figure.chart:not([hidden]) canvas")].map(canvas =>
              canvas.getBoundingClientRect().width / (canvas.width / devicePixelRatio));""")
        assert all(12 * scale * 72 / 96 >= 7 for scale in scales), scales
        broken = browser.js("""
            return [...document.querySelectorAll("td, th")].filter(cell => {
              const style = getComputedStyle(cell);
              return style.overflowWrap !== "normal" || style.wordBreak !== "normal";
            }).length;""")
        assert broken == 0, broken


def check_login(url, token):
    """The token is asked for, refused if it is wrong, and leaves the address."""
    if not token:
        return
    with clean_browser() as browser:
        browser.driver.get(url)
        browser.wait("the form", "return !document.getElementById('login').hidden")
        field = browser.driver.find_element(By.ID, "token")
        field.send_keys("0" * 64 + "\n")
        browser.wait("a refusal", "return document.getElementById('login-error').textContent !== ''")
        assert "not the token" in browser.text("#login-error")
        field.clear()
        field.send_keys(token + "\n")
        shown(browser)
        browser.driver.get(url)
        shown(browser)
    with clean_browser() as browser:
        open_page(browser, url, token)
        assert browser.driver.current_url == url, browser.driver.current_url
        assert token not in browser.js("return document.documentElement.outerHTML")


def check_live(url, token):
    """Events keep the page up to date: it shows what a fresh overview has, and nothing below the first screen moves."""
    if not token:
        return
    with clean_browser() as browser:
        browser.screen(1440)
        open_page(browser, url, token)
        browser.wait("names", "return document.querySelectorAll('#device-list tbody tr').length > 0")
        top = "return document.getElementById('charts-section').getBoundingClientRect().top"
        place = browser.js(top)
        before = browser.js("return shown.job().rounds_released")
        browser.js("window.wasHere = true")
        browser.wait("two more rounds", f"return shown.job().rounds_released >= {before + 2}")
        assert browser.js("return window.wasHere"), "the page was loaded anew"
        assert browser.js("return shown.job().rounds.every((round, i) => round.round === i + 1)")
        assert browser.js("return shown.job().rounds_released === shown.job().rounds.length")
        browser.wait("the progress is drawn", "return Number(document.getElementById('progress-text').textContent"
                     f".split(' of ')[0].replaceAll(',', '')) >= {before + 2}")
        assert browser.js(top) == place, "the charts moved"
        assert "live" in browser.text("#connection")
        for width, height in ((1440, 900), (390, 844)):
            browser.screen(width, height)
            cards = browser.js("""
                return [...document.querySelectorAll("#first > .card")].map(card =>
                  [card.id, card.getBoundingClientRect().bottom]);""")
            assert len(cards) == 5 and all(bottom <= height for _, bottom in cards), (width, cards)
        browser.wait("each class", "return shown.job().classes !== undefined && shown.job().classes !== null")
        browser.js("document.getElementById('classes-details').open = true")
        browser.wait("classes", "return document.querySelectorAll('#classes tbody tr').length > 1")
        assert browser.js("return [...document.querySelectorAll('table:not(.u-legend)')]"
                          ".every(table => table.caption?.textContent)"), "a table without caption"
        assert not (found := browser.complaints()), found


# A page of somebody else that tries to see the operator's.
ATTACK = """<!DOCTYPE html><title>other</title><script>
const target = new URLSearchParams(location.search).get("target");
const got = [];
const tries = [
  fetch(target + "api/overview", {credentials: "include"}).then(a => a.text()),
  fetch(target + "api/overview", {credentials: "include", mode: "no-cors"}).then(a => a.text()),
  fetch(target + "api/overview").then(a => a.text()),
  fetch(target + "metrics", {credentials: "include"}).then(a => a.text()),
  new Promise((take, fail) => {
    const source = new EventSource(target + "api/events", {withCredentials: true});
    source.onerror = () => { source.close(); fail(); };
    for (const name of ["log", "network", "round"]) source.addEventListener(name, event => take(event.data));
  }),
  new Promise((take, fail) => {
    const frame = document.createElement("iframe");
    frame.src = target;
    frame.onload = () => { try { take(frame.contentDocument.body.textContent); } catch (e) { fail(); } };
    document.documentElement.append(frame);
    setTimeout(fail, 3000);
  }),
];
Promise.allSettled(tries).then(all => {
  window.got = all.filter(each => each.status === "fulfilled" && each.value).map(each => each.value);
});
</script>"""


class Attacker(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        self.wfile.write(ATTACK.encode())

    def log_message(self, *unused):
        pass


def check_other_sites(url, token):
    """Another page in the operator's own browser, and another name for the address, get nothing."""
    if not token:
        return
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Attacker)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    port = urllib.parse.urlsplit(url).port
    rules = "MAP evil.example 127.0.0.1, MAP other.example 127.0.0.1"
    with Browser(f"--host-resolver-rules={rules}") as browser:
        open_page(browser, url, token)  # with the cookie
        for name in ("127.0.0.1", "localhost", "other.example"):
            browser.driver.get(f"http://{name}:{server.server_port}/?target={urllib.parse.quote(url)}")
            browser.wait("the attack ends", "return window.got !== undefined")
            assert browser.js("return window.got") == [], name
        browser.driver.get(f"http://evil.example:{port}/")
        assert "not the name of this page" in browser.text("body")
        answer = browser.js("return fetch('/api/overview').then(answer => answer.status)")
        assert answer == 421, answer
    server.shutdown()


def check_gave_up(url, token):
    """A job that gave up says so, and why."""
    with clean_browser() as browser:
        open_page(browser, url, token)
        browser.wait("the job gives up", "return document.getElementById('state').className === 'loud'")
        assert "GAVE UP" in browser.text("#state"), browser.text("#state")
        assert len(browser.text("#reason")) > 15, browser.text("#reason")


def check_empty(url, token):
    """A store without jobs says what to do."""
    with clean_browser() as browser:
        open_page(browser, url, token)
        assert "no job yet" in browser.text("#state"), browser.text("#state")
        assert "sotto job start" in browser.text("#steps"), browser.text("#steps")
        browser.js("shown.overview.devices = {registered: 0, eligible: 0, revoked: 0}; draw()")
        assert "no device yet" in browser.text("#state"), browser.text("#state")
        assert "sotto keys new" in browser.text("#steps"), browser.text("#steps")
        assert not (found := browser.complaints()), found


def check_published(url, token):
    """The published view shows nothing of who took part."""
    del token
    with clean_browser() as browser:
        open_page(browser, url, None)
        assert "Published view" in browser.text("#view")
        body = browser.text("body").lower()
        for words in ("nor how many of them reported", "an observer of uploads", "watches the uploads",
                      "who watches uploads", "a drawn device reports"):
            body = body.replace(words, "")
        for word in ("reported", "topped up", "upload", "connected", "late", "bytes"):
            assert word not in body, word


def check_turns(url, token):
    """The turns of a job of passes: how many devices had how many, and each device's."""
    with clean_browser() as browser:
        open_page(browser, url, token)
        if token:
            browser.wait("turns", "return shown.job().turns?.by_turns.some(each => each.turns > 0)")
        assert "A device takes part in at most" in browser.text("#turns"), browser.text("#turns")
        assert browser.js("return document.querySelectorAll('#turns-by tbody tr').length") > 0
        assert "attacker is right at most" in browser.text("#claims")
        browser.wait("what a device moved", "return / up and .* down in round /.test("
                     "document.getElementById('rounds-note').textContent)")
        if token:
            browser.js("document.getElementById('show-devices').click()")
            browser.wait("turns of devices", "return [...document.querySelectorAll('#device-list th')]"
                         ".some(cell => cell.textContent === 'turns used')")
        else:
            browser.js("document.getElementById('turns-details').open = true")
            browser.wait("a row for each device", "return document.querySelectorAll('#turns-list tbody tr').length === 2")
            browser.js("document.querySelectorAll('#turns-list th button')[1].click()")
            browser.wait("another order", "return document.querySelectorAll('#turns-list th')[1].ariaSort === 'descending'")
        assert not (found := browser.complaints()), found


def check_thousand(url, token):
    """A thousand rounds are drawn, and the page stays small."""
    with clean_browser() as browser:
        open_page(browser, url, token)
        assert browser.js("return shown.job().rounds.length") >= 1000
        assert all(ink for _, ink in canvases(browser)), canvases(browser)
        assert browser.js("return document.querySelectorAll('*').length") < 3000
        # What a drawing does for each round is seconds in a job of tens of thousands: no text and no element.
        texts = browser.js("""
            let calls = 0;
            const counted = (owner, name) => {
              owner[name] = new Proxy(owner[name], {
                apply: (target, self, words) => { ++calls; return Reflect.apply(target, self, words); },
                construct: (target, words) => { ++calls; return Reflect.construct(target, words); },
              });
            };
            counted(Intl, 'NumberFormat');
            const {get} = Object.getOwnPropertyDescriptor(Intl.NumberFormat.prototype, 'format');
            Object.defineProperty(Intl.NumberFormat.prototype, 'format',
                                  {get() { ++calls; return get.call(this); }});
            for (const name of ['toFixed', 'toPrecision', 'toLocaleString']) counted(Number.prototype, name);
            for (const name of ['createElement', 'createElementNS']) counted(document, name);
            draw();
            return calls;""")
        assert 0 < texts < 1000, f"a drawing makes {texts} texts and elements"
        assert not (found := browser.complaints()), found


ALWAYS = ("charts", "widths", "picture", "markup", "without_charts", "print", "numbers", "paper", "login",
          "other_sites")


def main():
    checks = {name[6:]: function for name, function in globals().items()
              if name.startswith("check_") and inspect.isfunction(function)}
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("url")
    parser.add_argument("--token")
    parser.add_argument("checks", nargs="*", default=["always"], metavar="CHECK",
                        help=f"{', '.join(checks)}; always: {' '.join(ALWAYS)}")
    options = parser.parse_intermixed_args()
    if webdriver is None or not shutil.which("chromium") or not shutil.which("chromedriver"):
        print("skipped: no Chromium with Selenium (chromium, chromium-driver, python3-selenium)")
        return 77
    failed = 0
    asked = options.checks or ["always"]
    for name in [each for one in asked for each in (ALWAYS if one == "always" else [one])]:
        begun = time.monotonic()
        try:
            checks[name](options.url, options.token)
            print(f"ok      {name}, {time.monotonic() - begun:.1f} s", flush=True)
        except AssertionError as error:
            failed += 1
            print(f"FAILED  {name}: {error}")
    for browser in SHARED:
        browser.__exit__()
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
