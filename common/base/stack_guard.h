#pragma once

namespace shardd {

/// For code that descends by a tree that somebody else wrote: TOO_DEEP_RECURSION (306) when little is left of
/// this thread's stack, whatever limits on depth were lifted. Costs a few instructions.
void checkStack();

}  // namespace shardd
