"""Run scikit-learn's own tests of its kernel machines against ours, and print what passes.

Each file of tests runs in a process of its own, in which scikit-learn's estimators are replaced by
the adapters of `estimators`, before the tests are imported. `reasons` lists the tests that ask for
something else than we promise, and why.
"""

import argparse
import os
import subprocess
import sys
from collections import Counter
from fnmatch import fnmatch
from pathlib import Path

import pytest
from reasons import ELSEWHERE, NOT_APPLICABLE, SELECTED

HERE = Path(__file__).parent
# Where scikit-learn keeps what is replaced, by the file of tests.
REPLACED = {
    "sklearn.svm.tests.test_svm": {"sklearn.svm": ("SVC", "SVR")},
    "sklearn.svm.tests.test_sparse": {"sklearn.svm": ("SVC", "SVR")},
    "sklearn.tests.test_kernel_ridge": {"sklearn.kernel_ridge": ("KernelRidge",)},
    "sklearn.decomposition.tests.test_kernel_pca": {"sklearn.decomposition": ("KernelPCA",)},
    "sklearn.linear_model.tests.test_ridge": {"sklearn.linear_model": ("RidgeCV",)},
}
MOST = 150


class Replacement:
    """A plugin of pytest that replaces estimators, and counts what becomes of the tests."""

    def __init__(self, module):
        self.module = module
        self.outcomes = Counter()
        self.left_out = Counter()
        self.failures = Counter()

    def pytest_configure(self):
        import importlib

        import estimators

        for place, names in REPLACED[self.module].items():
            home = importlib.import_module(place)
            for name in names:
                setattr(home, name, getattr(estimators, name))

    def pytest_collection_modifyitems(self, config, items):
        kept = []
        for item in items:
            reason = self.reason(item.name) or self.reason(item.originalname)
            if reason is None:
                kept.append(item)
            elif reason is not ELSEWHERE:
                self.left_out[reason] += 1
        items[:] = kept

    def reason(self, name):
        """Return why a test does not apply, by its name with parameters or without, or None."""
        selected = SELECTED.get(self.module)
        if selected is not None and not any(fnmatch(name, pattern) for pattern in selected):
            return ELSEWHERE
        reasons = NOT_APPLICABLE.get(self.module, {})
        return next((why for pattern, why in reasons.items() if fnmatch(name, pattern)), None)

    def pytest_runtest_logreport(self, report):
        if report.when == "call" or report.outcome != "passed":
            self.outcomes[report.outcome] += 1
        if report.failed:
            last = str(report.longrepr).strip().splitlines()[-1]
            crash = getattr(report.longrepr, "reprcrash", None)
            message = crash.message.splitlines()[0] if crash else last
            test = report.nodeid.split("::")[-1].split("[")[0]
            self.failures[f"{test}: {message}"[:MOST]] += 1

    def print_table(self):
        counts = self.outcomes
        print(
            f"{self.module}: {counts['passed']} pass, {counts['failed']} fail, "
            f"{sum(self.left_out.values())} do not apply, {counts['skipped']} skipped there"
        )
        for reason, count in self.left_out.most_common():
            print(f"    {count:4d}  {reason}")
        for failure, count in self.failures.items():
            print(f"    {count:4d}  FAILED {failure}")


def run(module, arguments):
    plugin = Replacement(module)
    options = ["-q", "--no-header", "-p", "no:cacheprovider", "-c", os.devnull, "--tb=short"]
    options += ["-p", "no:warnings", "--capture=fd", "--no-summary"]
    with open(os.devnull, "w") if not arguments else sys.stdout as quiet:
        shown, sys.stdout = sys.stdout, quiet
        try:
            code = pytest.main([*options, *arguments, "--pyargs", module], plugins=[plugin])
        finally:
            sys.stdout = shown
    plugin.print_table()
    return 0 if code == pytest.ExitCode.OK else 1


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--module", choices=list(REPLACED), help="run this one, in this process")
    parser.add_argument("arguments", nargs="*", help="for pytest, after --")
    given = parser.parse_args()
    if given.module:
        sys.exit(run(given.module, given.arguments))
    codes = [
        subprocess.run([sys.executable, __file__, "--module", module], cwd=HERE).returncode
        for module in REPLACED
    ]
    sys.exit(max(codes))


if __name__ == "__main__":
    main()
