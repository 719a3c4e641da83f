#pragma once

#include <string>
#include <utility>
#include <vector>

#include "common/base/error.h"
#include "server/functions/function.h"

/// What most functions are made of: a name with traits, and the checks of their arguments.
namespace shardd::functions {

/// A function that keeps its name and traits.
class SimpleFunction : public Function {
public:
    explicit SimpleFunction(std::string name, Traits traits = {})
        : name_(std::move(name)), traits_(std::move(traits)) {}

    const std::string& name() const override { return name_; }

    const Traits& traits() const override { return traits_; }

protected:
    std::string name_;
    Traits traits_;
};

/// NUMBER_OF_ARGUMENTS_DOESNT_MATCH (42) unless there are `least` to `most`.
void checkArgumentCount(const std::string& function,
                        Arguments arguments,
                        size_t least,
                        size_t most = SIZE_MAX);

/// ILLEGAL_TYPE_OF_ARGUMENT (43), naming the argument (from 0), its type and the function.
[[noreturn]] void failArgumentType(const std::string& function, Arguments arguments, size_t index);

/// The constant text of an argument; ILLEGAL_COLUMN (44) when it is no constant, ILLEGAL_TYPE_OF_ARGUMENT
/// (43) when it is no text.
std::string constantText(const std::string& function, Arguments arguments, size_t index);

}  // namespace shardd::functions
