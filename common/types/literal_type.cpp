#include "common/types/literal_type.h"

namespace shardd::types {

const TypePtr& literalUInt64() {
    static const TypePtr type = named(uint64(), uint64()->name());
    return type;
}

}  // namespace shardd::types
