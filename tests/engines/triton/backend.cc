// Backend of Triton with the models of `models/`. It needs only a C++ compiler: Triton's library, which the server has loaded, defines the
// functions that are declared here (no package contains their headers).
//
// `scores`: the largest of an image's ten scores has the index (sum of its bytes) mod 10.
// `echo`: returns any number of int32 unchanged.
// `tokens`: prompt and output are ids; the first id of a prompt can request a fault.

#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

extern "C" {
struct TRITONBACKEND_Input;
struct TRITONBACKEND_Model;
struct TRITONBACKEND_ModelInstance;
struct TRITONBACKEND_Output;
struct TRITONBACKEND_Request;
struct TRITONBACKEND_Response;
struct TRITONBACKEND_ResponseFactory;
struct TRITONSERVER_Error;
TRITONSERVER_Error* TRITONBACKEND_InputBuffer(
    TRITONBACKEND_Input*, uint32_t, const void**, uint64_t*, int*, int64_t*);
TRITONSERVER_Error* TRITONBACKEND_InputProperties(
    TRITONBACKEND_Input*, const char**, int*, const int64_t**, uint32_t*, uint64_t*, uint32_t*);
TRITONSERVER_Error* TRITONBACKEND_ModelInstanceModel(TRITONBACKEND_ModelInstance*, TRITONBACKEND_Model**);
TRITONSERVER_Error* TRITONBACKEND_ModelName(TRITONBACKEND_Model*, const char**);
TRITONSERVER_Error* TRITONBACKEND_OutputBuffer(TRITONBACKEND_Output*, void**, uint64_t, int*, int64_t*);
TRITONSERVER_Error* TRITONBACKEND_RequestInput(TRITONBACKEND_Request*, const char*, TRITONBACKEND_Input**);
TRITONSERVER_Error* TRITONBACKEND_RequestRelease(TRITONBACKEND_Request*, uint32_t);
TRITONSERVER_Error* TRITONBACKEND_ResponseFactoryDelete(TRITONBACKEND_ResponseFactory*);
TRITONSERVER_Error* TRITONBACKEND_ResponseFactoryIsCancelled(TRITONBACKEND_ResponseFactory*, bool*);
TRITONSERVER_Error* TRITONBACKEND_ResponseFactoryNew(TRITONBACKEND_ResponseFactory**, TRITONBACKEND_Request*);
TRITONSERVER_Error* TRITONBACKEND_ResponseFactorySendFlags(TRITONBACKEND_ResponseFactory*, uint32_t);
TRITONSERVER_Error* TRITONBACKEND_ResponseNewFromFactory(
    TRITONBACKEND_Response**, TRITONBACKEND_ResponseFactory*);
TRITONSERVER_Error* TRITONBACKEND_ResponseOutput(
    TRITONBACKEND_Response*, TRITONBACKEND_Output**, const char*, int, const int64_t*, uint32_t);
TRITONSERVER_Error* TRITONBACKEND_ResponseSend(TRITONBACKEND_Response*, uint32_t, TRITONSERVER_Error*);
TRITONSERVER_Error* TRITONSERVER_ErrorNew(int, const char*);
}

namespace {

enum { kInt32 = 8, kFp32 = 11 };  // data types
enum { kInternal = 1 };           // error code
enum { kFinal = 1, kRelease = 1 };

// Ids of the model `tokens`.
constexpr int32_t kVocabulary = 1000, kEnd = 2;
// Faults that the first id of a prompt requests.
enum { kFails = 990, kNeverEnds = 991, kEndsWithTokens = 992, kStops = 993, kBreaksOff = 994 };

struct Tensor {
  std::vector<int64_t> shape;
  std::vector<char> bytes;
};

Tensor Read(TRITONBACKEND_Request* request, const char* name) {
  TRITONBACKEND_Input* input = nullptr;
  TRITONBACKEND_RequestInput(request, name, &input);
  const char* own_name;
  const int64_t* shape;
  int type;
  uint32_t rank, buffers;
  uint64_t size;
  TRITONBACKEND_InputProperties(input, &own_name, &type, &shape, &rank, &size, &buffers);
  Tensor tensor{{shape, shape + rank}, {}};
  for (uint32_t i = 0; i < buffers; ++i) {
    const void* data;
    int memory = 0;
    int64_t device = 0;
    TRITONBACKEND_InputBuffer(input, i, &data, &size, &memory, &device);
    auto begin = static_cast<const char*>(data);
    tensor.bytes.insert(tensor.bytes.end(), begin, begin + size);
  }
  return tensor;
}

TRITONBACKEND_Response* Answer(
    TRITONBACKEND_ResponseFactory* factory, const char* name, int type, std::vector<int64_t> shape,
    const void* data, size_t size) {
  TRITONBACKEND_Response* response = nullptr;
  TRITONBACKEND_Output* output = nullptr;
  void* buffer = nullptr;
  int memory = 0;
  int64_t device = 0;
  TRITONBACKEND_ResponseNewFromFactory(&response, factory);
  TRITONBACKEND_ResponseOutput(response, &output, name, type, shape.data(), shape.size());
  TRITONBACKEND_OutputBuffer(output, &buffer, size, &memory, &device);
  memcpy(buffer, data, size);
  return response;
}

void Score(TRITONBACKEND_ResponseFactory* factory, const Tensor& images) {
  const size_t rows = images.shape[0], row_bytes = images.bytes.size() / rows;
  std::vector<float> scores(rows * 10);
  for (size_t row = 0; row < rows; ++row) {
    unsigned sum = 0;
    for (size_t i = 0; i < row_bytes; ++i) sum += uint8_t(images.bytes[row * row_bytes + i]);
    scores[row * 10 + sum % 10] = 1;
  }
  auto response = Answer(
      factory, "scores", kFp32, {int64_t(rows), 10}, scores.data(), scores.size() * sizeof(float));
  TRITONBACKEND_ResponseSend(response, kFinal, nullptr);
}

// Id number i is (sum of the prompt + 7 i) mod 990, in messages of 1, 2, 3, 1, 2, 3, ... ids.
void Speak(TRITONBACKEND_ResponseFactory* factory, const Tensor& prompt, int32_t count) {
  std::vector<int32_t> ids(prompt.bytes.size() / sizeof(int32_t));
  memcpy(ids.data(), prompt.bytes.data(), prompt.bytes.size());
  int64_t sum = 0;
  for (auto id : ids) sum += id;
  const int32_t wish = ids[0];
  if (wish == kStops || wish == kBreaksOff) count = count < 5 ? count : 5;
  bool ended = false;
  for (int32_t said = 0, many = 1; said < count; said += many, many = many % 3 + 1) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    many = many < count - said ? many : count - said;
    std::vector<int32_t> next(many);
    for (int32_t i = 0; i < many; ++i) {
      const int32_t id = (sum + 7 * int64_t(said + i)) % 990;
      next[i] = id == kEnd ? kEnd + 1 : id;
    }
    const bool last = said + many == count;
    if (last && wish == kStops) next.back() = kEnd;
    auto response = Answer(factory, "output_ids", kInt32, {1, many}, next.data(), many * sizeof(int32_t));
    TRITONSERVER_Error* error = nullptr;
    if (wish == kFails && said > 0) error = TRITONSERVER_ErrorNew(kInternal, "injected failure");
    ended = error != nullptr || (last && wish == kEndsWithTokens);
    TRITONBACKEND_ResponseSend(response, ended ? kFinal : 0, error);
    if (error != nullptr) break;
  }
  if (wish == kNeverEnds) fprintf(stderr, "tokens: asked for no end\n");
  bool cancelled = false;
  while (wish == kNeverEnds && !cancelled) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    TRITONBACKEND_ResponseFactoryIsCancelled(factory, &cancelled);
    if (cancelled) fprintf(stderr, "tokens: cancelled\n");
  }
  if (!ended) TRITONBACKEND_ResponseFactorySendFlags(factory, kFinal);
  TRITONBACKEND_ResponseFactoryDelete(factory);
}

}  // namespace

extern "C" __attribute__((visibility("default"))) TRITONSERVER_Error* TRITONBACKEND_ModelInstanceExecute(
    TRITONBACKEND_ModelInstance* instance, TRITONBACKEND_Request** requests, const uint32_t count) {
  TRITONBACKEND_Model* model = nullptr;
  const char* name = nullptr;
  TRITONBACKEND_ModelInstanceModel(instance, &model);
  TRITONBACKEND_ModelName(model, &name);
  const std::string model_name = name;
  for (uint32_t i = 0; i < count; ++i) {
    TRITONBACKEND_ResponseFactory* factory = nullptr;
    TRITONBACKEND_ResponseFactoryNew(&factory, requests[i]);
    if (model_name == "tokens") {
      int32_t most = 0;
      memcpy(&most, Read(requests[i], "max_tokens").bytes.data(), sizeof(most));
      std::thread(Speak, factory, Read(requests[i], "input_ids"), most).detach();
    } else {
      if (model_name == "scores") {
        Score(factory, Read(requests[i], "image"));
      } else {
        const Tensor x = Read(requests[i], "x");
        auto response = Answer(factory, "y", kInt32, x.shape, x.bytes.data(), x.bytes.size());
        TRITONBACKEND_ResponseSend(response, kFinal, nullptr);
      }
      TRITONBACKEND_ResponseFactoryDelete(factory);
    }
    TRITONBACKEND_RequestRelease(requests[i], kRelease);
  }
  return nullptr;
}
