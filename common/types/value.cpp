#include "common/types/value.h"

#include "common/base/error.h"

namespace shardd {

void Value::failKind() const {
    throw Error(ErrorCode::LOGICAL_ERROR, "A value of kind {} was read as another kind", storage_.index());
}

bool operator==(const Value& a, const Value& b) { return a.storage_ == b.storage_; }

}  // namespace shardd
