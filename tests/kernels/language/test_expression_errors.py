import subprocess
import sys

import pytest
from hypothesis import example, given, settings, strategies as st

from mercer.errors import KernelSyntaxError
from mercer.kernels import Kernel, Linear, kernel

h = Linear()


def message(text):
    with pytest.raises(KernelSyntaxError) as caught:
        kernel(text)
    return str(caught.value)


# Errors


@pytest.mark.parametrize(
    ("text", "place", "reason"),
    [
        ("", "character 1, at the end", "expected a kernel or a number"),
        ("linear +", "character 9, at the end", "expected a kernel or a number"),
        ("(linear", "character 8, at the end", "a bracket is still open"),
        ("gausian(2)", "character 1, at 'gausian'", "did you mean 'gaussian'?"),
        ("linear + lineer", "character 10, at 'lineer'", "did you mean 'linear'?"),
        ("linear linear", "character 8, at 'linear'", "expected '+'"),
        ("linear)", "character 7, at ')'", "expected '+'"),
        ("linear.normalised()", "character 8, at 'normalised'", "did you mean 'normalized'?"),
        ("linear.after(foo())", "character 14, at 'foo'", "after takes a map of rows; there are"),
        ("linear.after(g=standardise())", "at 'standardise'", "did you mean 'standardize'?"),
        (
            "linear.after(gaussian)",
            "at 'gaussian'",
            "calendar, fill_missing, normal_scores, project",
        ),
        ("linear.exp", "character 11, at the end", "expected '(' after exp"),
        ("linear.2", "character 7, at '.2'", "expected '+'"),
        ("gaussian(lenght_scale=1)", "character 10, at 'lenght_scale'", "'length_scale'"),
        ("gaussian(1, length_scale=1)", "character 13, at 'length_scale'", "given twice"),
        ("gaussian(1, 2)", "character 13, at '2'", "gaussian takes only length_scale"),
        ("polynomial(degree=2, 1)", "character 22, at '1'", "without a keyword"),
        ("gaussian(gamma=1, sigma=2)", "character 1, at 'gaussian'", "give it alone"),
        ("gaussian(-1)", "character 10, at '-'", "must be positive, got -1"),
        ("2*gaussian(gamma=0)", "character 18, at '0'", "gamma must be positive, got 0"),
        ("gaussian('mean')", "character 10, at \"'mean'\"", "got 'mean'"),
        ("polynomial(2, degree=3)", "character 15, at 'degree'", "given twice"),
        ("polynomial(2, scale=-1, offset='a')", "character 32, at", "offset must be"),
        ("RBF", "character 1, at 'RBF'", "did you mean 'rbf'?"),
        ("gaussian(median)", "character 10, at 'median'", "text goes in quotes"),
        ("gaussian(1 2)", "character 12, at '2'", "expected ',' or ')'"),
        ("bilinear", "character 1, at 'bilinear'", "it needs A"),
        ("bilinear([[1, 2], [3]])", "character 10, at '['", "Bilinear: A"),
        ("linear.polynomial()", "character 8, at 'polynomial'", "it needs coefficients"),
        ("linear.polynomial([1, -1])", "character 19, at '['", "must not be negative"),
        ("linear.exp(1)", "character 12, at '1'", "takes no arguments"),
        ("linear ** 0", "character 11, at '0'", "whole number of at least 1, got 0"),
        ("linear ** gaussian", "character 11, at 'gaussian'", "an exponent must be a number"),
        ("2 ** linear", "character 6, at 'linear'", "an exponent must be a number"),
        ("linear * -2", "character 10, at '-'", "must not be negative"),
        ("-linear", "character 1, at '-'", "a minus sign belongs to numbers"),
        ("linear - gaussian", "character 8, at '-'", "kernels cannot be subtracted"),
        ("linear / 2", "character 8, at '/'", "there is no division"),
        ("linear ^ 2", "character 8, at '^'", "powers are written **"),
        ("linear; gaussian", "character 7, at ';'", "this character has no meaning here"),
        ("linear.on('a", 'character 11, at "\'"', "this quote is never closed"),
        (r"linear.on('a\q')", r"character 13, at '\\q'", "no such escape"),
        (r"linear.on('\U00110000')", "character 12, at", "no such escape"),
        ("linear.on(body mass)", "character 16, at 'mass'", "some column names need quotes"),
        ("linear.on(2nd)", "character 12, at 'nd'", "some column names need quotes"),
        ("linear.on(1.5)", "character 11, at '1.5'", "expected a column"),
        ("linear.on(-age)", "character 12, at 'age'", "expected a column"),
        ("linear.on()", "character 8, at 'on'", "at least one column"),
        ("linear.on(a, a)", "character 8, at 'on'", "names a column twice"),
        ("2.5", "character 1, at '2.5'", "write constant(2.5)"),
        ("'linear'", "character 1, at \"'linear'\"", "this is no kernel"),
        ("(linear,)", "character 1, at '('", "this is no kernel"),
        ("(1, 2) * linear", "character 1, at '('", "'*' needs kernels or numbers"),
        ("linear + True", "character 10, at 'True'", "'+' needs kernels or numbers"),
        ("2.0.exp()", "character 1, at '2.0'", "only kernels have the method exp"),
        ("(2).exp()", "character 1, at '('", "only kernels have the method exp"),
        ("sum()", "character 1, at 'sum'", "at least one term"),
        ("sum(2)", "character 1, at 'sum'", "a term must be a kernel, got 2"),
        ("sum(terms=linear)", "character 5, at 'terms'", "without keywords"),
        ("linear * 1e999", "character 10, at '1e999'", "too large"),
        ("10**999*linear", "character 3, at '**'", "too large"),
        ("((((9**64)**64)**64)**64)*linear", "character 11, at '**'", "too large"),
        ("9" * 309 + "*linear", "character 1, at '9999", "too large"),
        ("1e308*10*linear", "character 6, at '*'", "too large"),
        ("(1e308 + 1e308)*linear", "character 8, at '+'", "too large"),
        ("linear.on(" + "9" * 309 + ")", "character 11, at '9999", "too large"),
        ("gapped_kmer(10**9, 10**8)", "character 1, at 'gapped_kmer'", "more than the 65536"),
        ("mismatch(10**9, 10**8)", "character 1, at 'mismatch'", "more than the 65536"),
        ("mismatch(5, 2, 10**200)", "character 1, at 'mismatch'", "use fewer letters"),
        ("0**-1*linear", "character 2, at '**'", "negative power"),
        ("(-8)**0.5*linear", "character 5, at '**'", "no such power"),
    ],
)
def test_an_error_points_at_the_character_in_one_line(text, place, reason):
    found = message(text)
    assert place in found
    assert reason in found
    assert "\n" not in found


@given(st.text(alphabet="gaussianlinear()[].,+*-=0123456789e'\"\\ \n<_ö", max_size=60))
@settings(max_examples=500, deadline=None)
@example("linear.on('\n")
@example("9" * 4400 + "*linear")
@example("9" * 400 + "*linear")
def test_any_text_is_a_kernel_or_a_one_line_syntax_error(text):
    try:
        assert isinstance(kernel(text), Kernel)
    except KernelSyntaxError as error:
        assert "\n" not in str(error)


# Limits


def test_ten_thousand_characters_are_read():
    assert kernel("linear".ljust(10_000)) == h


def test_more_characters_are_refused():
    assert "character 10001" in message("linear".ljust(10_001))


def test_fifty_brackets_are_read():
    assert kernel("(" * 50 + "linear" + ")" * 50) == h


@pytest.mark.parametrize(
    "text",
    [
        "(" * 51 + "linear" + ")" * 51,
        "[" * 5000,
        "sum(" * 51 + "linear" + ")" * 51,
        "linear" + ".exp()" * 50,
        "linear" + "*2*linear" * 60,
        "2**" * 51 + "1*linear",
    ],
    ids=["brackets", "lists", "calls", "methods", "products", "powers"],
)
def test_deeper_nesting_is_refused(text):
    assert "this nests deeper than 50" in message(text)


def test_the_longest_sum_is_read_as_one():
    assert len(kernel("+".join(["linear"] * 1428)).terms) == 1428


def test_many_minus_signs_are_only_signs():
    assert kernel("-" * 9000 + "2*linear") == 2.0 * h


def test_no_number_takes_long_to_refuse():
    texts = [
        "((((9**64)**64)**64)**64)*linear",
        "((((9**64)*9**64)**64)**64)**64 + linear",
        "gapped_kmer(10**9, 5*10**8)",
        "gapped_kmer(10**7, 5*10**6)",
        "mismatch(10**9, 4*10**8)",
        "mismatch(5, 4, 10**300)",
        "linear**(9**64)**64**64",
    ]
    # In a process of its own, as whole numbers are computed where no signal is heard.
    code = (
        "import sys, mercer\n"
        "for text in sys.argv[1:]:\n"
        "    try: mercer.kernel(text)\n"
        "    except ValueError: print('refused')\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, *texts], capture_output=True, text=True, timeout=30
    )
    assert done.stdout == "refused\n" * len(texts)


# Attacks


@pytest.mark.parametrize(
    "text",
    [
        "__import__('os')",
        "__import__('os').system('true')",
        "linear.__class__",
        "linear.__class__.__mro__",
        "linear.check()",
        "linear.with_params()",
        "linear.lower(1)",
        "gaussian.from_gamma(1)",
        "gaussian(from_gamma=1)",
        "gaussian(__init__=1)",
        "lambda: 1",
        "[linear for x in y]",
        "linear if 1 else gaussian",
        "eval('linear')",
        "exec('1')",
        "open('/etc/passwd')",
        "linear; import os",
        "linear\n\nimport os",
        "f'{linear}'",
        "Kernel()",
        "scaled(linear, 2)",
        "columns(linear, 0)",
        "compound(linear)",
        "linear.on(__import__('os'))",
        "linear.on(*a)",
        "gaussian(**a)",
        "linear.polynomial(linear)",
        "9**9**9**9*linear",
        "1e308*10*linear",
        "linear\x00",
    ],
)
def test_an_injection_is_refused(text):
    with pytest.raises(KernelSyntaxError):
        kernel(text)


def test_the_parser_uses_neither_eval_nor_ast():
    code = (
        "import builtins\n"
        "from mercer.kernels import kernel\n"
        "def refused(*a, **k): raise AssertionError('code was evaluated')\n"
        "builtins.eval = builtins.exec = builtins.compile = refused\n"
        "print(kernel('2*gaussian(gamma=0.125).on(age) + linear.exp()'))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("2.0 * gaussian(length_scale=2.0).on(age)")
