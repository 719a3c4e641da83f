#include "server/functions/simple_regexp.h"

#include <algorithm>
#include <bit>
#include <cctype>
#include <cstring>

#include <emmintrin.h>

namespace shardd::functions {

namespace {

constexpr int kAllCharacters = 128;
constexpr size_t kMostSteps = 128;

bool isAsciiByte(char c) { return static_cast<uint8_t>(c) < 128; }

bool isPunctuation(char c) {
    return c > ' ' && c < 127 && !std::isalnum(static_cast<unsigned char>(c)) && c != '_';
}

std::bitset<128> rangeOf(char first, char last) {
    std::bitset<128> set;
    for (int c = first; c <= last; ++c) set.set(static_cast<size_t>(c));
    return set;
}

/// \d, \w, \s in small letters; nothing for other letters.
std::optional<std::bitset<128>> namedSet(char letter) {
    switch (letter) {
        case 'd':
            return rangeOf('0', '9');
        case 'w':
            return rangeOf('0', '9') | rangeOf('A', 'Z') | rangeOf('a', 'z') | rangeOf('_', '_');
        case 's':
            return rangeOf('\t', '\n') | rangeOf('\f', '\r') | rangeOf(' ', ' ');
        default:
            return std::nullopt;
    }
}

}  // namespace

/// Takes the pattern apart, and gives up at whatever it does not know.
class SimpleRegexp::Parser {
public:
    Parser(std::string_view pattern, SimpleRegexp& result) : pattern_(pattern), result_(result) {}

    bool parse() {
        if (!std::all_of(pattern_.begin(), pattern_.end(),
                         [](char c) { return isAsciiByte(c) && c != '\0'; }))
            return false;
        result_.from_begin_ = take('^');
        while (!ended()) {
            if (pattern_.substr(at_) == "$") {
                add(Step::Kind::TextEnd);
                ++at_;
                break;
            }
            if (!parseItem()) return false;
        }
        add(Step::Kind::Done);
        // Few steps: walking calls itself.
        return open_.empty() && result_.group_count_ < kMostGroups && result_.steps_.size() <= kMostSteps;
    }

private:
    struct OpenGroup {
        size_t optional;  // a step kept free for the "?" that may follow the group
        size_t number;    // 0: it is not reported
    };

    bool ended() const { return at_ == pattern_.size(); }

    char peek() const { return ended() ? '\0' : pattern_[at_]; }

    bool take(char c) {
        if (peek() != c || ended()) return false;
        ++at_;
        return true;
    }

    Step& add(Step::Kind kind) {
        result_.steps_.emplace_back();
        result_.steps_.back().kind = kind;
        return result_.steps_.back();
    }

    bool parseItem() {
        switch (peek()) {
            case '(':
                return openGroup();
            case ')':
                return closeGroup();
            case '[':
                return parseClass();
            case '.': {
                ++at_;
                std::bitset<128> all;
                all.set();
                return addSet(all, true);
            }
            case '\\':
                return parseEscape();
            case '^':
            case '$':
            case '|':
            case '?':
            case '*':
            case '+':
            case '{':
            case '}':
            case ']':
                return false;
            default:
                return addLetter(pattern_[at_++]);
        }
    }

    /// A group begins with a step that may become an Optional; left alone it is an empty literal.
    bool openGroup() {
        ++at_;
        const bool reported = peek() != '?';
        if (!reported) {
            if (pattern_.substr(at_, 2) != "?:") return false;
            at_ += 2;
        }
        open_.push_back({result_.steps_.size(), reported ? ++result_.group_count_ : 0});
        add(Step::Kind::Literal);
        // A step of its own for what follows.
        if (reported)
            add(Step::Kind::GroupBegin).number = result_.group_count_;
        else
            add(Step::Kind::Literal);
        return true;
    }

    bool closeGroup() {
        if (open_.empty()) return false;
        ++at_;
        const OpenGroup group = open_.back();
        open_.pop_back();
        if (group.number != 0) add(Step::Kind::GroupEnd).number = group.number;
        if (isQuantifier(peek())) {
            if (!take('?') || isQuantifier(peek())) return false;
            makeOptional(group.optional);
        }
        // Whatever follows is a step of its own: the end of an optional group is a place to go to.
        add(Step::Kind::Literal);
        return true;
    }

    static bool isQuantifier(char c) { return c == '?' || c == '*' || c == '+' || c == '{'; }

    bool addLetter(char letter) {
        if (isQuantifier(peek())) return addSet(rangeOf(letter, letter), false);
        if (result_.steps_.empty() || result_.steps_.back().kind != Step::Kind::Literal)
            add(Step::Kind::Literal);
        result_.steps_.back().literal.push_back(letter);
        return true;
    }

    bool parseEscape() {
        ++at_;
        if (ended()) return false;
        const char letter = pattern_[at_++];
        if (const auto set = namedSet(letter)) return addSet(*set, false);
        return isPunctuation(letter) && addLetter(letter);
    }

    bool parseClass() {
        ++at_;
        const bool negated = take('^');
        if (peek() == ']') return false;
        std::bitset<128> set;
        while (!ended() && peek() != ']') {
            char first = pattern_[at_++];
            if (first == '[') return false;
            if (first == '\\') {
                if (ended()) return false;
                first = pattern_[at_++];
                if (const auto named = namedSet(first)) {
                    set |= *named;
                    if (peek() == '-') return false;
                    continue;
                }
                if (!isPunctuation(first)) return false;
            }
            char last = first;
            if (peek() == '-' && at_ + 1 < pattern_.size() && pattern_[at_ + 1] != ']') {
                ++at_;
                last = pattern_[at_++];
                if (last == '\\' || last == '[' || last < first) return false;
            }
            set |= rangeOf(first, last);
        }
        if (!take(']')) return false;
        return addSet(negated ? ~set : set, negated);
    }

    /// What follows step `i` may be left out.
    void makeOptional(size_t i) {
        result_.steps_[i].kind = Step::Kind::Optional;
        result_.steps_[i].number = result_.steps_.size();
    }

    bool addSet(const std::bitset<128>& set, bool beyond_ascii) {
        const size_t place = result_.steps_.size();
        if (peek() == '?') add(Step::Kind::Optional).number = place + 2;
        Step& step = add(Step::Kind::Set);
        step.set = set;
        step.beyond_ascii = beyond_ascii;
        if (beyond_ascii && set.all()) step.but_one = kAllCharacters;
        if (beyond_ascii && set.count() == 127)
            for (int c = 0; c < 128; ++c)
                if (!set[static_cast<size_t>(c)]) step.but_one = c;
        const bool optional = take('?');
        const bool any_number = !optional && take('*');
        step.repeats = any_number || (!optional && take('+'));
        step.at_least = any_number ? 0 : 1;
        return !isQuantifier(peek());
    }

    std::string_view pattern_;
    SimpleRegexp& result_;
    size_t at_ = 0;
    std::vector<OpenGroup> open_;
};

/// What one search keeps.
struct SimpleRegexp::Walk {
    const char* text_end = nullptr;
    std::span<std::string_view> groups = {};
    const char* begins[kMostGroups];  // each is written before it is read
    const char* match_end = nullptr;
    size_t effort_left = 0;
    bool unknown = false;

    void spend(size_t effort) {
        if (effort > effort_left) unknown = true;
        effort_left -= std::min(effort, effort_left);
    }
};

std::optional<SimpleRegexp> SimpleRegexp::parse(std::string_view pattern) {
    SimpleRegexp result;
    if (!Parser(pattern, result).parse()) return std::nullopt;
    result.prepare();
    return result;
}

/// The step that decides what may come behind step `i`.
size_t SimpleRegexp::nextDeciding(size_t i) const {
    using enum Step::Kind;
    const auto decides = [](const Step& step) { return step.kind != GroupBegin && step.kind != GroupEnd; };
    while (!decides(steps_[i])) ++i;
    return i;
}

/// Literals that nothing was put into only held a place while the pattern was read.
void SimpleRegexp::dropEmptySteps() {
    std::vector<Step> kept;
    std::vector<size_t> places;
    for (Step& step : steps_) {
        places.push_back(kept.size());
        if (step.kind != Step::Kind::Literal || !step.literal.empty()) kept.push_back(std::move(step));
    }
    for (Step& step : kept)
        if (step.kind == Step::Kind::Optional) step.number = places[step.number];
    steps_ = std::move(kept);
}

void SimpleRegexp::prepare() {
    using enum Step::Kind;
    dropEmptySteps();
    const auto cannotBegin = [](const Step& next, const Step& step) {
        if (next.kind == Literal) return !step.set[static_cast<size_t>(next.literal[0])];
        return next.kind == Set && next.at_least > 0 && (step.set & next.set).none() &&
               !(step.beyond_ascii && next.beyond_ascii);
    };
    for (size_t i = 0; i < steps_.size(); ++i) {
        Step& step = steps_[i];
        if (step.kind == Literal) {
            const size_t size = std::min<size_t>(step.literal.size(), 8);
            std::memcpy(&step.literal_head, step.literal.data(), size);
            step.head_mask = size == 8 ? ~uint64_t{0} : (uint64_t{1} << (8 * size)) - 1;
        } else if (step.kind == Set && step.repeats) {
            const Step& next = steps_[nextDeciding(i + 1)];
            step.never_gives_back = next.kind == TextEnd || next.kind == Done || cannotBegin(next, step);
        } else if (step.kind == Optional && step.number == i + 2 && steps_[i + 1].kind == Set) {
            step.never_gives_back =
                !steps_[i + 1].repeats && cannotBegin(steps_[nextDeciding(i + 2)], steps_[i + 1]);
        }
    }
    const Step& first = steps_[nextDeciding(0)];
    if (first.kind == Literal)
        first_letters_ = rangeOf(first.literal[0], first.literal[0]);
    else if (first.kind == Set && first.at_least > 0 && !first.beyond_ascii)
        first_letters_ = first.set;
}

/// Behind the last character from `at` on that belongs to the set.
const char* SimpleRegexp::endOfRun(const Step& step, const char* at, Walk& state) const {
    const char* const begin = at;
    if (step.but_one >= 0) {
        const __m128i other = _mm_set1_epi8(static_cast<char>(step.but_one));
        for (;; at += 16) {
            if (at >= state.text_end) {
                at = state.text_end;
                break;
            }
            const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(at));
            const int stops = _mm_movemask_epi8(_mm_or_si128(bytes, _mm_cmpeq_epi8(bytes, other)));
            if (stops == 0) continue;
            at = std::min(at + std::countr_zero(static_cast<uint32_t>(stops)), state.text_end);
            break;
        }
    } else {
        while (at < state.text_end && isAsciiByte(*at) && step.set[static_cast<size_t>(*at)]) ++at;
    }
    if (at < state.text_end && step.beyond_ascii && !isAsciiByte(*at)) state.unknown = true;
    state.spend(static_cast<size_t>(at - begin));
    return at;
}

/// Whether what a literal or a set wants stands at `at`.
bool SimpleRegexp::begins(const Step& step, const char* at, const Walk& state) {
    const auto left = static_cast<size_t>(state.text_end - at);
    if (step.kind == Step::Kind::Set)
        return left > 0 && (isAsciiByte(*at) ? step.set[static_cast<size_t>(*at)] : step.beyond_ascii);
    if (step.kind != Step::Kind::Literal) return true;
    const size_t size = step.literal.size();
    if (left < size) return false;
    uint64_t head = 0;  // may reach into the bytes behind the text
    std::memcpy(&head, at, sizeof(head));
    if (((head ^ step.literal_head) & step.head_mask) != 0) return false;
    return size <= 8 || std::memcmp(at + 8, step.literal.data() + 8, size - 8) == 0;
}

bool SimpleRegexp::walkShorterRuns(Walk& state,
                                   size_t step,
                                   const char* shortest,
                                   const char* longest) const {
    // Counted, because the text of a column of empty texts may begin at address 0.
    for (auto more = longest - shortest; more >= 0; --more) {
        if (walk(state, step + 1, shortest + more)) return true;
        if (state.unknown) return false;
    }
    return false;
}

bool SimpleRegexp::walk(Walk& state, size_t i, const char* at) const {
    state.spend(1);
    for (;; ++i) {
        if (state.unknown) return false;
        const Step& step = steps_[i];
        switch (step.kind) {
            case Step::Kind::Literal:
                if (!begins(step, at, state)) return false;
                at += step.literal.size();
                break;
            case Step::Kind::Set: {
                if (step.repeats) {
                    const char* end = endOfRun(step, at, state);
                    if (end - at < step.at_least) return false;
                    if (!step.never_gives_back) return walkShorterRuns(state, i, at + step.at_least, end);
                    at = end;
                    break;
                }
                if (!begins(step, at, state)) return false;
                if (!isAsciiByte(*at)) {
                    state.unknown = true;
                    return false;
                }
                ++at;
                break;
            }
            case Step::Kind::GroupBegin:
                state.begins[step.number] = at;
                break;
            case Step::Kind::GroupEnd:
                if (step.number < state.groups.size())
                    state.groups[step.number] = {state.begins[step.number],
                                                 static_cast<size_t>(at - state.begins[step.number])};
                break;
            case Step::Kind::Optional: {
                const bool may_take = begins(steps_[i + 1], at, state);
                if (may_take && step.never_gives_back) break;
                if (may_take && walk(state, i + 1, at)) return true;
                for (size_t inner = i + 1; inner < step.number; ++inner)
                    if (steps_[inner].kind == Step::Kind::GroupEnd &&
                        steps_[inner].number < state.groups.size())
                        state.groups[steps_[inner].number] = {};
                i = step.number - 1;
                break;
            }
            case Step::Kind::TextEnd:
                if (at != state.text_end) return false;
                break;
            case Step::Kind::Done:
                state.match_end = at;
                return true;
        }
    }
}

SimpleRegexp::Answer SimpleRegexp::match(std::string_view text,
                                         size_t from,
                                         std::span<std::string_view> groups) const {
    constexpr size_t kEffort = 16;  // a character
    if (from_begin_ && from != 0) return Answer::Unknown;
    Walk state;
    state.text_end = text.data() + text.size();
    state.groups = groups;
    state.effort_left = kEffort * (text.size() + 16);
    std::fill(groups.begin(), groups.end(), std::string_view());
    for (size_t start = from; start <= text.size(); ++start) {
        if (first_letters_) {
            const auto canBegin = [&](char c) {
                return isAsciiByte(c) && (*first_letters_)[static_cast<size_t>(c)];
            };
            if (from_begin_ && (text.empty() || !canBegin(text[0]))) return Answer::No;
            while (start < text.size() && !canBegin(text[start])) ++start;
            if (start == text.size()) return Answer::No;
        }
        const char* at = text.data() + start;
        if (walk(state, 0, at)) {
            if (!groups.empty()) groups[0] = {at, static_cast<size_t>(state.match_end - at)};
            return Answer::Yes;
        }
        if (state.unknown) return Answer::Unknown;
        if (from_begin_) break;
    }
    return Answer::No;
}

}  // namespace shardd::functions
