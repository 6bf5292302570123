#include "sotto/models.h"

namespace sotto {
namespace {

constexpr ModelInfo kModels[] = {
    MakeModelInfo<Softmax784x10>("softmax-784-10"),
    MakeModelInfo<Softmax64x10>("softmax-64-10"),
    MakeModelInfo<FixedSoftmax784x10>("softmax-784-10-q"),
    MakeModelInfo<FixedSoftmax64x10>("softmax-64-10-q"),
    MakeModelInfo<Mlp>("mlp"),
    MakeModelInfo<SmallCnn>("small-cnn"),
    MakeModelInfo<LeNet>("lenet"),
    MakeModelInfo<FixedMlp>("mlp-q"),
    MakeModelInfo<FixedSmallCnn>("small-cnn-q"),
    MakeModelInfo<FixedLeNet>("lenet-q"),
    MakeModelInfo<SvhnCnn>("svhn-cnn"),
    MakeModelInfo<CharLstm>("char-lstm"),
    MakeModelInfo<CharLstmSmall>("char-lstm-small"),
    MakeModelInfo<OvaLogistic>("ova-logistic"),
    MakeModelInfo<Motion>("motion"),
    MakeModelInfo<ResNet8>("resnet8"),
    MakeModelInfo<ResNet18>("resnet18"),
    MakeModelInfo<DsCnn>("ds-cnn", kDsCnnClasses),
};

}  // namespace

Span<const ModelInfo> Models() { return kModels; }

const ModelInfo* FindModel(const char* name) {
  for (const ModelInfo& model : kModels) {
    if (__builtin_strcmp(model.name, name) == 0) return &model;
  }
  return nullptr;
}

}  // namespace sotto
