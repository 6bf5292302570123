"""The Python package with the programs that SOTTO_PROGRAM names: what users rely on."""
import inspect
import os
import signal
import subprocess
import sys
import tempfile
import unittest
import warnings

import numpy
import sotto

try:
    import pandas
except ImportError:
    pandas = None

SMALL = dict(data="synthetic", model="softmax-64-10", devices=20, cohort=5, rounds=2, delta=0.01,
             samples_per_device=10, seed=1, noise_multiplier=1)


class Simulations(unittest.TestCase):
    def test_a_run_has_results_rounds_parameters_and_a_log(self):
        lines = []
        run = sotto.simulate(**SMALL, progress=lines.append)
        self.assertEqual(run.model, "softmax-64-10")
        self.assertEqual(run["epsilon"], run.rounds[-1]["epsilon"])
        self.assertEqual([row["round"] for row in run.rounds], [1, 2])
        self.assertEqual(run.weights.shape, (650,))
        self.assertTrue(numpy.isfinite(run.weights).all())
        self.assertEqual(run.parameters, 650)
        self.assertTrue(repr(run).startswith("<Run: model softmax-64-10, data synthetic, accuracy 0."), run)
        self.assertTrue(repr(run).endswith(f"adjacency replace-one, {run.privacy_note}>"), run)
        self.assertEqual(lines, run.log)
        self.assertTrue(any(line.startswith("round") for line in run.log), run.log)

    def test_the_model_of_a_run_lives_as_long_as_the_run(self):
        run = sotto.simulate(**SMALL)
        path = run.model_out
        self.assertTrue(os.path.exists(path))
        del run
        self.assertFalse(os.path.exists(path))

    def test_outputs_go_where_they_are_named(self):
        with tempfile.TemporaryDirectory() as folder:
            run = sotto.simulate(**SMALL, model_out=folder + "/m.f32", json=folder + "/r.json")
            self.assertEqual(os.path.getsize(folder + "/m.f32"), 4 * 650)
            self.assertTrue(os.path.exists(folder + "/r.json"))
            self.assertEqual(run.model_out, folder + "/m.f32")
            self.assertEqual(len(run.rounds), 2)

    def test_the_same_seed_gives_the_same_model(self):
        self.assertEqual(sotto.simulate(**SMALL).parameters_sha256, sotto.simulate(**SMALL).parameters_sha256)

    def test_several_seeds_are_one_result(self):
        options = {**SMALL, "seeds": [3, 4]}
        del options["seed"]
        runs = sotto.simulate(**options)
        self.assertEqual(runs.seeds, [3, 4])
        self.assertEqual(len(runs.runs), 2)
        if pandas:
            self.assertEqual(list(runs.frame().seed), [3, 3, 4, 4])

    def test_arrays_are_samples(self):
        rng = numpy.random.default_rng(1)
        y = numpy.arange(400) % 10
        x = rng.normal(size=(400, 64)).astype("f4") + numpy.eye(10, 64)[y] * 3
        options = {**SMALL, "data": (x, y), "rounds": 8, "noise_multiplier": 0.1}
        run = sotto.simulate(**options)
        self.assertGreater(run.accuracy, 0.3)
        rows = sotto.model.predict(run, data=x[:5])
        self.assertEqual(len(rows), 5)
        self.assertIsInstance(rows[0]["class"], int)
        self.assertAlmostEqual(sum(rows[0][f"probability_{i}"] for i in range(10)), 1, places=5)
        self.assertEqual(sotto.model.evaluate(run, data=(x, y)).samples, 400)
        again = sotto.simulate(**options, initial_model=run)
        self.assertEqual(again.initial_accuracy, run.accuracy)
        who = numpy.array([f"user, {i % 20:02}" for i in range(400)], dtype=object)
        del options["devices"], options["samples_per_device"]
        grouped = sotto.simulate(**{**options, "data": {"x": x, "y": y, "who": who, "group": "who"}}, partition="group")
        self.assertEqual(grouped.devices, 20)

    @unittest.skipUnless(pandas, "no pandas")
    def test_frames_are_samples_and_results(self):
        frame = pandas.DataFrame(numpy.random.default_rng(1).normal(size=(300, 64)))
        frame["activity"] = [f"class {i % 10}" for i in range(300)]
        run = sotto.simulate(**{**SMALL, "data": {"frame": frame, "label": "activity"}})
        rounds = run.frame()
        self.assertEqual(list(rounds["round"]), [1, 2])
        self.assertIn("evaluation_loss", rounds)

    def test_no_frame_without_pandas(self):
        saved = sys.modules.get("pandas")
        sys.modules["pandas"] = None
        try:
            with self.assertRaisesRegex(ImportError, "needs pandas"):
                sotto.simulate(**SMALL).frame()
        finally:
            del sys.modules["pandas"]
            if saved:
                sys.modules["pandas"] = saved

    def test_warnings_of_the_program_are_warnings(self):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            run = sotto.simulate(**{**SMALL, "noise_multiplier": 50})
        self.assertEqual([str(each.message) for each in caught][1:], run.warnings)
        self.assertIn("noise drowns", run.warnings[0])
        self.assertTrue(caught[0].filename.endswith("python_package.py"), caught[0].filename)


class Commands(unittest.TestCase):
    def test_accountants_answer(self):
        answer = sotto.account.epsilon(sampling="none", noise_multiplier=9, rounds=1, delta=1e-5)
        self.assertEqual(answer.delta, 1e-5)
        self.assertTrue(0.3 < answer.epsilon < 0.5, answer.epsilon)
        sigma = sotto.account.sigma(sampling="none", rounds=1, epsilon=answer.epsilon, delta=1e-5)
        self.assertAlmostEqual(sigma.noise_multiplier, 9, places=2)

    def test_the_lab_is_there(self):
        self.assertIn("audit", vars(sotto.lab))
        entropy = sotto.lab.inspect.entropy(coordinates=10)
        self.assertTrue(entropy)

    def test_an_experiment_is_a_result(self):
        tiny = os.path.join(os.path.dirname(__file__), "../vectors/experiments/tiny.toml")
        with tempfile.TemporaryDirectory() as folder:
            result = sotto.lab.experiment(tiny, quick=True, out=folder, only=["smoothing=2", "pace=fast"])
            self.assertEqual(len(result.cells), 1)
            if pandas:
                self.assertIn("figures_accuracy_mean", result.frame("cells"))
        with self.assertRaisesRegex(sotto.Error, "list prints a text"):
            sotto.lab.experiment("list")
        self.assertIn("gau-lrq", sotto.lab.experiment("list", json=None).text)

    def test_flags_and_texts(self):
        self.assertTrue(sotto.simulate(**SMALL, require_salt=True).job["require_salt"])
        self.assertFalse(sotto.simulate(**SMALL, require_salt=False).job["require_salt"])
        self.assertEqual(sotto.simulate(**SMALL, clip=numpy.float32(0.5), smoothing=None).clip_l2, 0.5)
        self.assertIn("softmax-64-10", sotto.model().text)

    def test_help_comes_from_the_program(self):
        signature = inspect.signature(sotto.simulate)
        self.assertEqual(signature.parameters["padding"].default, 64)
        self.assertIs(signature.parameters["epsilon"].annotation, float)
        self.assertIn("config", signature.parameters)
        self.assertIn("padding: pad uploads to a multiple of this many bytes", sotto.simulate.__doc__)
        self.assertIn("simulate", dir(sotto))
        self.assertIn("sigma", sotto.account.__all__)
        self.assertIn("source", inspect.signature(sotto.model.predict).parameters)

    def test_a_name_that_is_none_is_told_with_the_nearest(self):
        with self.assertRaisesRegex(TypeError, "sotto.simulate.. has no option 'epsilom'; did you mean 'epsilon'"):
            sotto.simulate(epsilom=3)
        with self.assertRaisesRegex(TypeError, "arrays are .samples, labels."):
            sotto.simulate(data=(numpy.zeros(3),) * 3)
        with self.assertRaisesRegex(TypeError, "sotto.account.epsilon.. takes at most 0 positional"):
            sotto.account.epsilon(1)
        with self.assertRaisesRegex(AttributeError, "has no command 'simulat'; did you mean 'simulate'"):
            sotto.simulat
        self.assertFalse(hasattr(sotto, "_repr_html_"))

    def test_an_error_has_its_parts(self):
        with self.assertRaises(sotto.Error) as caught:
            sotto.simulate(data="synthetic", noise_multiplier="x")
        self.assertEqual(caught.exception.option, "noise_multiplier")
        self.assertEqual(caught.exception.status, 2)
        self.assertEqual(str(caught.exception), "--noise-multiplier: 'x' is not a number")
        self.assertIn("--help", caught.exception.advice)
        with self.assertRaises(sotto.Error) as caught:
            sotto.status("/nonexistent/fleet.db")
        self.assertEqual(caught.exception.status, 1)
        self.assertIn("/nonexistent/fleet.db", str(caught.exception))

    def test_a_job_that_gives_up_has_its_results(self):
        with self.assertRaises(sotto.Error) as caught:
            sotto.simulate(**{**SMALL, "dropout": 0.9, "quorum": 5})
        self.assertEqual(caught.exception.status, 3, caught.exception)
        self.assertEqual(caught.exception.result.devices, 20)

    def test_an_interruption_ends_the_program(self):
        def interrupt(line):
            if line.startswith("round"):
                raise KeyboardInterrupt

        with tempfile.TemporaryDirectory() as folder:
            with self.assertRaises(KeyboardInterrupt):
                sotto.simulate(**{**SMALL, "rounds": 4000, "participations": 1000}, json=folder + "/r.json",
                               progress=interrupt)
            self.assertTrue(os.path.getsize(folder + "/r.json"), "it has written what there was")


class Programs(unittest.TestCase):
    def run_with(self, code, **environment):
        return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True,
                              env={**os.environ, **environment})

    def test_a_missing_program_is_one_sentence(self):
        for program in ("", "/no/such/sotto"):
            run = self.run_with("import sotto\ntry: sotto.simulate\nexcept sotto.Error as error: print(error)",
                                SOTTO_PROGRAM=program, PATH="/nonexistent")
            self.assertIn("there is no program sotto: ", run.stdout, run.stderr)
            self.assertIn("SOTTO_PROGRAM=/path/to/build", run.stdout)
        self.assertEqual(self.run_with("import sotto; dir(sotto)", SOTTO_PROGRAM="/no").returncode, 0)

    def test_a_run_draws_its_rounds(self):
        try:
            import matplotlib
        except ImportError:
            self.skipTest("no Matplotlib (package python3-matplotlib)")
        matplotlib.use("Agg")
        options = {"data": "synthetic", "devices": 50, "rounds": 3}
        run = sotto.simulate(seed=1, **options)
        axes = run.plot("epsilon")
        self.assertEqual(list(axes.lines[0].get_ydata()), [row["epsilon"] for row in run.rounds])
        self.assertEqual((axes.get_xlabel(), axes.get_ylabel()), ("round", "epsilon"))
        several = sotto.simulate(seeds="1,2", **options)
        self.assertIs(several.plot("accuracy", axes=axes), axes)
        both = [run["rounds"][-1]["accuracy"] for run in several["runs"]]
        self.assertAlmostEqual(axes.lines[1].get_ydata()[-1], sum(both) / 2)
        self.assertEqual(len(axes.collections), 1)
        with self.assertRaisesRegex(KeyError, "no column 'accurracy'; they have .*accuracy"):
            run.plot("accurracy")

    def test_the_program_may_stand_in_path(self):
        folder = os.path.dirname(os.environ["SOTTO_PROGRAM"])
        run = self.run_with("import sotto; sotto.simulate; sotto.lab.audit", SOTTO_PROGRAM="", PATH=folder)
        self.assertEqual(run.returncode, 0, run.stderr)

    def test_a_program_that_is_too_old_is_told(self):
        with tempfile.TemporaryDirectory() as folder:
            with open(folder + "/sotto", "w") as file:
                file.write("#!/bin/sh\necho \"there is no command 'options'\" >&2\nexit 2\n")
            os.chmod(folder + "/sotto", 0o755)
            run = self.run_with("import sotto\nsotto.simulate", SOTTO_PROGRAM=folder + "/sotto")
            self.assertIn("this package needs Sotto", run.stderr)


if __name__ == "__main__":
    unittest.main(warnings="ignore")  # of runs that are as small
