#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace shardd::storage {

/// Whether a column, or an element of a Tuple, is stored sparse.
struct SerializationKind {
    bool sparse = false;
    std::vector<SerializationKind> elements;
};

/// What serialization.json says; the default is what holds without the file.
struct SerializationInfo {
    /// String has a stream of sizes of its own.
    bool string_sizes = false;
    /// Sparse columns may be Nullable, where NULL is the default and there is no null map.
    bool sparse_nullable = false;
    std::map<std::string, SerializationKind, std::less<>> columns;

    /// Errors: INCORRECT_DATA (117) for text that is no JSON of this form, or of a version that is unknown.
    static SerializationInfo parse(std::string_view text);

    /// The file of a part that we write: only that strings have sizes.
    static std::string textForStringSizes();
};

}  // namespace shardd::storage
