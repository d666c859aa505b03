"""The pictures of classifiers: regions, margins, support, and a kernel that narrows."""

import ast
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV
from sklearn.multiclass import OutputCodeClassifier
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

import mercer
from mercer.estimators import KernelPerceptron, KernelSVC
from mercer.kernels import Gaussian
from mercer.reports import DecisionDisplay, GammaSweepDisplay, decision
from mercer.reports.sweep import GAMMAS
from mercer.selection import KernelRidgeClassifier
from refusals import refuses

plt = pytest.importorskip("matplotlib.pyplot")


@pytest.fixture(autouse=True)
def no_window():
    plt.switch_backend("agg")
    yield
    plt.close("all")


def blobs(rng, classes, n=60):
    y = rng.integers(0, classes, size=n)
    X = np.array([[0.0, 0.0], [3.0, 0.0], [0.0, 3.0], [3.0, 3.0]])[y] + rng.normal(size=(n, 2))
    return X, np.array(["ash", "birch", "cedar", "elm"])[y]


@pytest.fixture
def two(rng):
    return blobs(rng, 2)


def predicted_by(surface, classes):
    return np.asarray(classes)[surface.leads.argmax(axis=0)]


@pytest.mark.parametrize("classes", [2, 4])
@pytest.mark.parametrize(
    "model",
    [
        KernelPerceptron(),
        KernelRidgeClassifier(),
        SVC(),
        SVC(decision_function_shape="ovo"),
        RandomForestClassifier(10, random_state=0),
        OutputCodeClassifier(SVC(), random_state=0),
        make_pipeline(StandardScaler(), SVC()),
        GridSearchCV(SVC(), {"C": [1.0]}),
    ],
    ids=lambda model: type(model).__name__,
)
def test_regions_are_those_of_the_predicted_classes(rng, model, classes):
    X, y = blobs(rng, classes)
    model.fit(X, y)
    display = DecisionDisplay.from_estimator(model, X, y, resolution=30)
    s = display.surface
    grid = np.stack(np.meshgrid(s.x, s.z), axis=-1).reshape(-1, 2)
    shown = predicted_by(s, model.classes_).ravel()
    leads = np.sort(s.leads.reshape(classes, -1), axis=0)[-1]
    # Where two classes are level, either may be shown.
    clear = leads > 1e-9
    assert clear.mean() > 0.5
    assert_array_equal(shown[clear], model.predict(grid)[clear])
    assert len(display.regions_) == classes


def test_two_classes_have_the_lines_f_minus_one_zero_and_one(two):
    X, y = two
    model = SVC(gamma=0.5).fit(X, y)
    display = DecisionDisplay.from_estimator(model, X, y, resolution=150)
    assert display.surface.margin == 1.0
    levels = {line.levels[0]: line for line in display.boundary_}
    assert sorted(levels) == [0.0, 1.0]
    path = np.concatenate([p.vertices for p in levels[0.0].get_paths()])
    assert_allclose(model.decision_function(path), 0.0, atol=0.01)
    dashed = [line for line in display.boundary_ if line.levels[0] == 1.0]
    ends = [np.concatenate([p.vertices for p in line.get_paths()]) for line in dashed]
    assert_allclose(model.decision_function(ends[0]), -1.0, atol=0.01)
    assert_allclose(model.decision_function(ends[1]), 1.0, atol=0.01)


@pytest.mark.parametrize(
    ("model", "margin"),
    [
        (KernelSVC(), 1.0),
        (make_pipeline(StandardScaler(), SVC()), 1.0),
        (KernelPerceptron(), None),
        (KernelRidgeClassifier(), None),
        (mercer.KernelLogisticRegression(), None),
    ],
    ids=lambda value: type(value).__name__,
)
def test_only_support_vector_machines_have_margins(two, model, margin):
    X, y = two
    display = DecisionDisplay.of(model.fit(X, y), X, y, resolution=10)
    assert display.surface.margin == margin


@pytest.mark.parametrize("model", [SVC(gamma=0.5), KernelPerceptron(Gaussian(1.0))], ids=repr)
def test_support_vectors_are_ringed(two, model):
    X, y = two
    model.fit(X, y)
    display = DecisionDisplay.from_estimator(model, X, y, resolution=20)
    assert_array_equal(display.support_.get_offsets(), X[model.support_])
    legend = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert f"support vectors ({len(model.support_)})" in legend


def test_support_vectors_of_a_pipeline_are_ringed_where_the_rows_are(two):
    X, y = two
    model = make_pipeline(StandardScaler(), SVC(gamma=0.5)).fit(X, y)
    display = DecisionDisplay.from_estimator(model, X, y, resolution=20)
    assert_array_equal(display.support, X[model[-1].support_])


def test_a_model_without_support_has_no_rings(two):
    X, y = two
    display = DecisionDisplay.from_estimator(KNeighborsClassifier().fit(X, y), X, y)
    assert display.support_ is None
    assert [h.get_label() for h in display.handles()] == ["ash", "birch", "boundary"]


def test_every_class_has_its_points_colour_and_mark(rng):
    X, y = blobs(rng, 4)
    display = DecisionDisplay.from_estimator(KernelRidgeClassifier().fit(X, y), X, y)
    for name, points in zip(np.unique(y), display.points_, strict=True):
        assert points.get_label() == name
        assert_array_equal(points.get_offsets(), X[y == name])
    assert len({tuple(p.get_facecolor()[0]) for p in display.points_}) == 4
    assert len({p.get_paths()[0].vertices.tobytes() for p in display.points_}) == 4


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_a_table_names_the_axes_and_reaches_the_kernel(two, library):
    X, y = two
    frame = pytest.importorskip(library).DataFrame({"width": X[:, 0], "height": X[:, 1]})
    kernel = Gaussian(1.0).on("width") * Gaussian(2.0).on("height")
    model = KernelRidgeClassifier(kernel).fit(frame, y)
    display = DecisionDisplay.from_estimator(model, frame, y, resolution=20)
    assert (display.ax_.get_xlabel(), display.ax_.get_ylabel()) == ("width", "height")
    assert display.ax_.get_title().startswith("KernelRidgeClassifier, gaussian of width")


def test_it_draws_on_the_axes_given(two):
    X, y = two
    _, axes = plt.subplots()
    model = KernelRidgeClassifier().fit(X, y)
    display = DecisionDisplay.from_estimator(model, X, y, ax=axes, s=99)
    assert display.ax_ is axes
    assert display.points_[0].get_sizes()[0] == 99
    assert display.plot().ax_ is not axes


def test_a_constant_answer_has_a_region_and_no_line(two):
    X, y = two
    far = SVC(gamma=0.5).fit(X + 1000.0, y)
    display = DecisionDisplay.from_estimator(far, X, y, resolution=20)
    assert display.boundary_ == []


def test_a_picture_is_refused_for_what_it_cannot_show(two):
    X, y = two
    draw = DecisionDisplay.from_estimator
    model = KernelRidgeClassifier().fit(X, y)
    wide = np.column_stack([X, X[:, 0]])
    refuses(
        "needs two columns, got 3; fit the model to two",
        draw,
        KernelRidgeClassifier().fit(wide, y),
        wide,
        y,
    )
    refuses("X has 60 rows but y has shape (59,)", draw, model, X, y[1:])
    refuses("y holds 'oak', which is none of the classes", draw, model, X, np.full(60, "oak"))
    with pytest.raises(NotFittedError):
        draw(KernelRidgeClassifier(), X, y)


def test_the_ten_gammas_are_those_of_the_lectures():
    shown = [0.016, 0.05, 0.18, 0.63, 2.16, 7.41, 25.4, 87.1, 298.6, 1024.0]
    assert_allclose(GAMMAS, shown, rtol=0.08)
    assert_allclose(np.diff(np.log2(GAMMAS)), 16.0 / 9.0)


@pytest.mark.parametrize("model", [None, SVC(), KernelPerceptron(max_epochs=3)], ids=repr)
def test_a_sweep_has_a_panel_for_every_gamma(two, model):
    X, y = two
    sweep = GammaSweepDisplay.from_data(X, y, estimator=model, cv=3, resolution=15)
    assert len(sweep.axes_) == 10
    titles = [ax.get_title() for ax in sweep.axes_]
    assert titles[0] == "gamma = 0.0156"
    assert titles[-2:] == ["gamma = 298.6", "gamma = 1024"]
    own = type(model or KernelSVC()).__name__
    assert sweep.figure_.get_suptitle().startswith(own)


def test_a_sweep_leads_from_underfit_to_overfit(rng):
    X = rng.normal(size=(80, 2))
    y = (X[:, 1] > np.sin(3.0 * X[:, 0])).astype(int) ^ (rng.random(80) < 0.1)
    sweep = GammaSweepDisplay.from_data(X, y, estimator=SVC(C=10.0), resolution=10)
    training = [panel.training for panel in sweep.panels]
    held_out = [panel.held_out for panel in sweep.panels]
    assert training[0] < 0.9
    assert training[-1] == 1.0
    assert 0 < np.argmax(held_out) < 9


def test_a_sweep_says_what_was_right_and_kept(two):
    X, y = two
    sweep = GammaSweepDisplay.from_data(X, y, [0.5], estimator=SVC(), cv=None, resolution=10)
    model = SVC(gamma=0.5).fit(X, y)
    share = f"right: {model.score(X, y):.0%} in training"
    caption = sweep.axes_[0].get_xlabel()
    assert caption == f"{share}\n{len(model.support_)} support vectors"
    direct = DecisionDisplay.of(model, X, y, 10)
    assert_array_equal(sweep.panels[0].display.surface.leads, direct.surface.leads)


def test_nothing_written_overlaps(two):
    X, y = two
    figure = GammaSweepDisplay.from_data(X, y, estimator=SVC(), cv=3, resolution=10).figure_
    figure.canvas.draw()
    texts = [figure._suptitle, *(a.title for a in figure.axes)]
    texts += [a.xaxis.label for a in figure.axes]
    boxes = [t.get_window_extent() for t in texts] + [figure.legends[0].get_window_extent()]
    inside = figure.bbox
    for i, box in enumerate(boxes):
        assert inside.x0 - 1 <= box.x0
        assert box.x1 <= inside.x1 + 1
        assert not any(box.overlaps(other) for other in boxes[:i])


@pytest.mark.parametrize(
    ("name", "displays"),
    [
        ("gamma_sweep", {"GammaSweepDisplay", "DecisionDisplay"}),
        ("look_into_a_model", {"ImportanceDisplay", "EffectDisplay", "GramDisplay", "explain"}),
    ],
)
def test_the_gallery_calls_what_there_is(name, displays):
    script = Path(__file__).parents[2] / "docs" / "gallery" / f"{name}.py"
    tree = ast.parse(script.read_text(encoding="utf-8"))
    used = {
        node.attr
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and getattr(node.value, "id", "") == "mercer"
    }
    assert used <= set(mercer.__all__)
    assert displays <= used


class Scored:
    """A classifier of three classes that answers with given scores."""

    classes_ = np.array([0, 1, 2])

    def __init__(self, f, predicted=None):
        self.f, self.predicted = np.array(f), predicted

    def decision_function(self, X):
        return self.f

    def predict(self, X):
        return self.f.argmax(axis=1) if self.predicted is None else np.array(self.predicted)


def test_scores_are_one_for_each_class_or_those_of_the_prediction():
    two = Scored([0.5, -2.0])
    two.classes_ = np.array([0, 1])
    scores, margin = decision._scores(two, None)
    assert_allclose(scores, [[-0.25, 0.25], [1.0, -1.0]])
    assert margin is None
    f = [[3.0, 1.0, 2.0], [0.0, 5.0, 1.0]]
    scores, margin = decision._scores(Scored(f), None)
    assert_allclose(scores, f)
    assert margin is None
    # What votes say is not what is predicted.
    scores, margin = decision._scores(Scored(f, [2, 1]), None)
    assert_allclose(scores, [[0.0, 0.0, 1.0], [0.0, 1.0, 0.0]])
    assert margin is None


def test_the_grid_has_a_little_room_around_the_rows_and_leads_are_over_the_next_best(rng):
    points = np.array([[0.0, 5.0], [10.0, 5.0]])
    f = rng.normal(size=(12, 3))
    surface = decision._surface(Scored(np.repeat(f, 3, axis=0)[:36]), points, points, 6)
    assert_allclose(surface.x, np.linspace(-0.8, 10.8, 6))
    # A column that is constant has a room of one.
    assert_allclose(surface.z, np.linspace(4.0, 6.0, 6))
    scores = np.repeat(f, 3, axis=0)
    for c in range(3):
        lead = scores[:, c] - np.delete(scores, c, axis=1).max(axis=1)
        assert_allclose(surface.leads[c].ravel(), lead)


def test_support_vectors_are_looked_up_among_the_rows(rng):
    points = rng.normal(size=(5, 2))

    class Supported:
        pass

    model = Supported()
    assert decision._support(model, points).shape == (0, 2)
    for support, count in (([], 0), ([4, 1], 2), ([5], 0)):
        model.support_ = np.array(support)
        assert len(decision._support(model, points)) == count
    model.support_ = np.array([4, 1])
    assert_array_equal(decision._support(model, points), points[[4, 1]])


def test_colours_are_mixed_with_white_and_come_again():
    assert_allclose(decision._whitened("#ff0080", 0.5), (1.0, 0.5, 0.5 + 0.25 * 256 / 255))
    assert_allclose(decision._whitened("#000000", 0.0), (0.0, 0.0, 0.0))
    count = len(decision.COLOURS)
    assert decision._colour(count + 1) == decision._colour(1) == decision.COLOURS[1]
