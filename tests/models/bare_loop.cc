// Measures the minimum time of a language model's step: calls the entries of its file from C++, one step after the other.

#include <torch/script.h>

#include <ctime>

// Returns the mean CPU seconds of a step, over `steps` steps of `rows` rows that attend to `length` positions; negative on error.
extern "C" double bare_loop(const char *path, int64_t rows, int64_t length, int64_t positions, int64_t steps) try {
    c10::InferenceMode mode;
    torch::jit::Module model = torch::jit::load(path);
    model.eval();
    auto sizes = model.get_method("sizes")({}).toGenericDict();
    auto size = [&](const char *name) { return sizes.at(std::string(name)).toInt(); };
    c10::List<at::Tensor> caches;
    for (int64_t layer = 0; layer < size("layers"); ++layer)
        caches.push_back(at::zeros({rows, positions, 2 * size("groups"), size("width")}));
    auto decode = model.get_method("decode"), choose = model.get_method("choose");
    auto ends = at::zeros({0}, at::kLong);
    c10::IValue early;  // every output may end
    auto ids = at::arange(rows), at = at::full({rows}, length - 2, at::kLong);
    auto step = [&] { ids = choose({decode({ids, at, length, caches}), early, ends}).toTensor(); };
    for (int i = 0; i < 8; ++i)
        step();
    std::clock_t start = std::clock();
    for (int64_t i = 0; i < steps; ++i)
        step();
    return double(std::clock() - start) / CLOCKS_PER_SEC / steps;
} catch (const std::exception &error) {
    fprintf(stderr, "bare_loop: %s\n", error.what());
    return -1;
}
