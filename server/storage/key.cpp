#include "server/storage/key.h"

#include <algorithm>

namespace shardd::storage {

ColumnPtr KeyElement::compute(const Block& block) const {
    return full(column.empty() ? evaluate(block) : block.get(column).column);
}

std::vector<std::string> KeyDescription::usedColumns() const {
    std::vector<std::string> used;
    for (const KeyElement& element : elements)
        for (const std::string& name : element.columns)
            if (std::find(used.begin(), used.end(), name) == used.end()) used.push_back(name);
    return used;
}

}  // namespace shardd::storage
