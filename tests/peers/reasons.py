"""Which of scikit-learn's tests ask for something else than we promise, and why."""

ELSEWHERE = "not about the estimators that are replaced"

OTHER_MACHINES = "about LinearSVC, LinearSVR, NuSVC, NuSVR, OneClassSVM or LIBSVM itself"
INDEFINITE = "an indefinite kernel is refused with a witness, or repaired where repair= is given"
ITERATIONS = "max_iter counts working sets, and one of them solves this problem"
NEGATIVE = "negative weights are refused; LIBSVM drops such rows"
INTERNAL = "about attributes that only scikit-learn's estimator has"
DEPRECATED = "about an argument that scikit-learn deprecates and we do not have"
ZEROS = "asks for remove_zero_eig: n_components=None leaves zeros out, and a number is kept to"
WORDS = "refused here too, in other words"
ACCEPTED = "refused there and accepted here"
ALWAYS = "predict_proba is always there"
TIES = "asks for a tie that offsets of LIBSVM make; ours, which are not unique there either, do not"
WHOLE = "its function is only right for all training rows at once; ours are the support vectors"
STEPS = "n_iter_ is a number here, and not one for each pair of classes: that of the longest"
ALONE = "about RidgeClassifierCV: KernelRidgeClassifierCV leaves out one row, and takes no cv"
RESULTS = "cv_results_ is a table of candidates, not errors of every row"

# By the file of tests and the pattern of a test's name.
NOT_APPLICABLE = {
    "sklearn.svm.tests.test_svm": {
        "test_linearsv*": OTHER_MACHINES,
        "test_linear_svm_convergence*": OTHER_MACHINES,
        "test_liblinear*": OTHER_MACHINES,
        "test_dense_liblinear*": OTHER_MACHINES,
        "test_lsvc*": OTHER_MACHINES,
        "test_crammer*": OTHER_MACHINES,
        "test_dual_auto*": OTHER_MACHINES,
        "test_oneclass*": OTHER_MACHINES,
        "*NuSV*": OTHER_MACHINES,
        "*OneClassSVM*": OTHER_MACHINES,
        "*LinearSV*": OTHER_MACHINES,
        "test_svr_errors": WORDS,
        "test_svc_nonfinite_params": WORDS,
        "test_svc_invalid_break_ties_param*": ACCEPTED,
        "test_bad_input*": ACCEPTED,
        "test_sparse_precomputed*": ACCEPTED,
        "test_tweak_params": INTERNAL,
        "test_gamma_scale": INTERNAL,
        "test_svc_raises_error_internal_representation": INTERNAL,
        "test_negative_sample_weights*": NEGATIVE,
        "test_negative_weights_svc_leave_just_one_label*": NEGATIVE,
        "test_negative_weight*[[]partial-mask-label-1-*": NEGATIVE,
        "test_libsvm_convergence_warnings": ITERATIONS,
        "test_n_iter_libsvm[[]*SVC*": STEPS,
        "test_hasattr_predict_proba": ALWAYS,
        "test_svc_ovr_tie_breaking*": TIES,
        "test_custom_kernel_not_array_input[[]SVC[]]": WHOLE,
        "test_probability_raises_futurewarning*": DEPRECATED,
        "test_svc_nusvc_probA_probB_deprecated*": DEPRECATED,
    },
    "sklearn.svm.tests.test_sparse": {
        "test_linearsv*": OTHER_MACHINES,
        "test_sparse_liblinear*": OTHER_MACHINES,
        "test_sparse_oneclasssvm*": OTHER_MACHINES,
        "test_svc[[]*sigmoid*X_train[012]-*": INDEFINITE,
        "test_timeout*": ITERATIONS,
    },
    "sklearn.decomposition.tests.test_kernel_pca": {
        "test_kernel_pca_inverse_correct_gamma": INTERNAL,
        "test_kernel_pca_invalid_parameters": WORDS,
        "test_remove_zero_eig": ZEROS,
        "test_kernel_pca_precomputed_non_symmetric*": WORDS,
        "test_precomputed_kernel_not_psd*": WORDS,
    },
    "sklearn.linear_model.tests.test_ridge": {
        "test_ridge_gcv_integer_arrays": RESULTS,
        "test_ridge_gcv_sample_weights*": RESULTS,
        "test_ridge_gcv_cv_results_not_stored*": RESULTS,
        "test_ridge_cv_individual_penalties": RESULTS,
        "test_ridgecv_store_cv_results*": RESULTS,
        "test_ridge_cv_results_predictions*": RESULTS,
        "test_regularization_limits_ridge_gcv[[]csr_*-svd-*": DEPRECATED,
        "test_ridgecv_alphas_validation*": WORDS,
        "test_ridgecv_alphas_zero[[]RidgeCV-None[]]": ACCEPTED,
        "*RidgeClassifierCV*": ALONE,
    },
}
# Of a large file the tests that are about what is replaced.
SELECTED = {
    "sklearn.linear_model.tests.test_ridge": (
        "test_ridge_gcv*",
        "test_ridge_loo*",
        "test_ridgecv*",
        "test_ridge_cv*",
        "test_regularization_limits_ridge_gcv*",
    ),
}
