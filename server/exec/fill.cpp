#include <algorithm>
#include <cmath>

#include "common/columns/create_column.h"
#include "server/exec/expression.h"
#include "server/exec/operators.h"
#include "server/exec/pipeline.h"
#include "server/exec/sort_order.h"

namespace shardd::exec {

namespace {

using Row = std::vector<Value>;

/// Days since 1970-01-01 and back, by the proleptic Gregorian calendar.
int64_t daysOf(int64_t year, int64_t month, int64_t day) {
    year -= month <= 2;
    const int64_t era = (year >= 0 ? year : year - 399) / 400;
    const int64_t of_era = year - era * 400;
    const int64_t of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
    return era * 146097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719468;
}

int64_t addMonths(int64_t days, int64_t months) {
    const int64_t z = days + 719468;
    const int64_t era = (z >= 0 ? z : z - 146096) / 146097;
    const int64_t of_era = z - era * 146097;
    const int64_t year_of_era = (of_era - of_era / 1460 + of_era / 36524 - of_era / 146096) / 365;
    const int64_t of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    const int64_t shifted = (5 * of_year + 2) / 153;
    const int64_t day = of_year - (153 * shifted + 2) / 5 + 1;
    const int64_t month = shifted < 10 ? shifted + 3 : shifted - 9;
    const int64_t year = year_of_era + era * 400 + (month <= 2);
    const int64_t total = year * 12 + (month - 1) + months;
    const int64_t new_year = (total >= 0 ? total : total - 11) / 12;
    const int64_t new_month = total - new_year * 12 + 1;
    const int64_t last =
        daysOf(new_month == 12 ? new_year + 1 : new_year, new_month == 12 ? 1 : new_month + 1, 1) -
        daysOf(new_year, new_month, 1);
    return daysOf(new_year, new_month, std::min(day, last));
}

/// One column of WITH FILL: its values as numbers, its steps.
class FillColumn {
public:
    FillColumn(const plan::FillStep::Column& column, const TypePtr& type)
        : column_(column), type_(removeNullable(removeLowCardinality(type))) {}

    int direction() const { return column_.key.descending ? -1 : 1; }

    const std::optional<Value>& from() const { return column_.from; }

    const std::optional<Value>& to() const { return column_.to; }

    const std::optional<Value>& staleness() const { return column_.staleness; }

    const std::string& name() const { return column_.key.column; }

    /// In the order of the column: negative when a comes first.
    /// A column that starts anew without FROM is not told apart from anything (NULL).
    int compare(const Value& a, const Value& b) const {
        if (a.isNull() || b.isNull()) return 0;
        int order = 0;
        if (isFloat()) {
            const auto x = a.to<double>();
            const auto y = b.to<double>();
            order = x < y ? -1 : x > y;
        } else {
            const auto x = a.to<Int128>();
            const auto y = b.to<Int128>();
            order = x < y ? -1 : x > y;
        }
        return order * direction();
    }

    Value stepped(const Value& value) const { return moved(value, column_.step); }

    /// `value` moved by STALENESS: filled rows end before it.
    Value stale(const Value& value) const { return moved(value, *column_.staleness); }

private:
    bool isFloat() const { return type_->isFloat(); }

    Value moved(const Value& value, const Value& step) const {
        if (isFloat()) return Value(value.to<double>() + step.to<double>());
        if (!column_.step_unit) return integer(value.to<Int128>() + step.to<Int128>());
        return movedByInterval(value, step.to<int64_t>());
    }

    static Value integer(Int128 number) {
        if (number < 0 && number >= INT64_MIN) return Value(static_cast<int64_t>(number));
        if (number >= 0 && number <= Int128(UINT64_MAX)) return Value(static_cast<uint64_t>(number));
        return Value(number);
    }

    /// Units per second of the column's numbers; 0 for days.
    Int128 ticks() const {
        if (type_->isDate()) return 0;
        Int128 result = 1;
        for (unsigned i = 0; i < type_->scale(); ++i) result *= 10;
        return result;
    }

    Value movedByInterval(const Value& value, int64_t count) const {
        const auto number = value.to<Int128>();
        const Int128 second = ticks();
        const Int128 day = second == 0 ? 1 : second * 86400;
        const auto months = [&](int64_t n) {
            Int128 days = number / day;
            Int128 rest = number % day;
            if (rest < 0) {
                rest += day;
                --days;
            }
            return integer(Int128(addMonths(static_cast<int64_t>(days), n)) * day + rest);
        };
        switch (*column_.step_unit) {
            case IntervalUnit::Year:
                return months(12 * count);
            case IntervalUnit::Quarter:
                return months(3 * count);
            case IntervalUnit::Month:
                return months(count);
            case IntervalUnit::Week:
                return integer(number + day * 7 * count);
            case IntervalUnit::Day:
                return integer(number + day * count);
            case IntervalUnit::Hour:
                return integer(number + second * 3600 * count);
            case IntervalUnit::Minute:
                return integer(number + second * 60 * count);
            case IntervalUnit::Second:
                return integer(number + second * count);
            case IntervalUnit::Millisecond:
                return integer(number + second * count / 1000);
            case IntervalUnit::Microsecond:
                return integer(number + second * count / 1000000);
            case IntervalUnit::Nanosecond:
                return integer(number + second * count / 1000000000);
        }
        return value;
    }

    const plan::FillStep::Column& column_;
    TypePtr type_;
};

/// Rows of the answer as they are made: those of the input and those between them.
class FilledRows {
public:
    FilledRows(const plan::FillStep& step, const Block& header, QueryContext& context, Sink& sink)
        : step_(step), header_(header), context_(context), sink_(sink) {
        begin();
    }

    void addOriginal(const Block& block, size_t row) {
        for (size_t i = 0; i < columns_.size(); ++i) columns_[i]->insertFrom(*block.columns[i].column, row);
        endRow();
    }

    /// `prefix` is a row of the input whose sorting prefix is repeated, when there is one.
    void addFilled(const std::vector<FillColumn>& fill,
                   const Row& values,
                   const Block* prefix,
                   size_t prefix_row) {
        const Block interpolated = interpolate();
        for (size_t i = 0; i < columns_.size(); ++i) {
            const NamedColumn& column = header_.columns[i];
            const auto filled = std::find_if(fill.begin(), fill.end(),
                                             [&](const FillColumn& f) { return f.name() == column.name; });
            const size_t place = static_cast<size_t>(filled - fill.begin());
            if (filled != fill.end() && !values[place].isNull())
                columns_[i]->insert(values[place]);
            else if (filled != fill.end())
                insertDefaults(*column.type, *columns_[i], 1);
            else if (const auto at = interpolated.find(column.name))
                columns_[i]->insert(interpolated.columns[*at].column->value(0));
            else if (prefix && isPrefix(column.name, fill))
                columns_[i]->insertFrom(*prefix->columns[i].column, prefix_row);
            else
                insertDefaults(*column.type, *columns_[i], 1);
        }
        endRow();
    }

    void flush() {
        if (rows_ == 0) return;
        Block block = take();
        last_ = block.slice(block.rows - 1, 1);
        if (!enough_) enough_ = sink_.consume(0, std::move(block)) == Flow::Enough;
    }

    bool enough() const { return enough_; }

private:
    void begin() {
        columns_.clear();
        for (const NamedColumn& column : header_.columns) columns_.push_back(createColumn(*column.type));
        rows_ = 0;
    }

    Block take() {
        Block block;
        block.rows = rows_;
        for (size_t i = 0; i < columns_.size(); ++i)
            block.columns.push_back(
                {header_.columns[i].name, header_.columns[i].type, ColumnPtr(std::move(columns_[i]))});
        begin();
        return block;
    }

    void endRow() {
        if (++rows_ < context_.settings.max_block_rows && step_.interpolate.empty()) return;
        context_.check();
        flush();
    }

    /// The INTERPOLATE columns from the row before.
    Block interpolate() const {
        if (step_.interpolate.empty()) return {};
        Block before = last_;
        if (before.rows == 0) {
            before.rows = 1;
            for (const NamedColumn& column : header_.columns)
                before.columns.push_back({column.name, column.type,
                                          createConstColumn(*column.type, defaultValue(*column.type), 1)});
        }
        return evaluate(step_.interpolate, before);
    }

    bool isPrefix(const std::string& name, const std::vector<FillColumn>& fill) const {
        for (const plan::SortKey& key : step_.all_keys) {
            if (key.column == fill[0].name()) return false;
            if (key.column == name) return true;
        }
        return false;
    }

    const plan::FillStep& step_;
    const Block& header_;
    QueryContext& context_;
    Sink& sink_;
    std::vector<MutableColumnPtr> columns_;
    size_t rows_ = 0;
    Block last_;  // the last row given out
    bool enough_ = false;
};

class FillSink final : public ForwardingSink {
public:
    FillSink(const plan::FillStep& step, const StepPlace& place, Sink& next)
        : ForwardingSink(next), step_(step), out_(step, place.header, place.context, next) {
        for (const plan::FillStep::Column& column : step.columns)
            fill_.emplace_back(column, place.header.get(column.key.column).type);
    }

    Flow consume(size_t /*worker*/, Block block) override {
        block.makeFull();
        for (size_t row = 0; row < block.rows && !out_.enough(); ++row) addRow(block, row);
        return out_.enough() ? Flow::Enough : Flow::More;
    }

    void finish() override {
        if (!out_.enough()) endGroup();
        out_.flush();
        next_.finish();
    }

private:
    void addRow(const Block& block, size_t row) {
        if (previous_ && !samePrefix(block, row)) endGroup();
        const Row target = valuesOf(block, row);
        const bool has_null =
            std::any_of(target.begin(), target.end(), [](const Value& value) { return value.isNull(); });
        if (has_null) {
            out_.addOriginal(block, row);
            return;
        }
        if (!at_) begin(target, block, row);
        if (is_pending_) {
            const int order = compareRows(*at_, target);
            if (order < 0) out_.addFilled(fill_, *at_, &block, row);
            if (order <= 0) is_pending_ = false;
        }
        while (!out_.enough() && advance(target)) out_.addFilled(fill_, *at_, &block, row);
        out_.addOriginal(block, row);
        last_original_ = target;
        previous_ = block.slice(row, 1);
    }

    /// Before the first row of a group: from FROM on, where that lies before it.
    void begin(const Row& target, const Block& block, size_t row) {
        Row start = target;
        bool before = false;
        for (size_t i = 0; i < fill_.size(); ++i) {
            if (!fill_[i].from()) continue;
            const int order = fill_[i].compare(*fill_[i].from(), target[i]);
            if (order < 0 || before) {
                before = true;
                start[i] = *fill_[i].from();
            } else if (order > 0) {
                break;
            }
        }
        at_ = start;
        if (before) {
            for (size_t i = 0; i < fill_.size(); ++i)
                if (fill_[i].from() && fill_[i].compare(*fill_[i].from(), start[i]) < 0)
                    (*at_)[i] = *fill_[i].from();
            out_.addFilled(fill_, *at_, &block, row);
        }
    }

    /// Moves at_ to the next row to be filled in before `target`; false when there is none.
    bool advance(const Row& target) {
        size_t position = 0;
        while (position < fill_.size() && fill_[position].compare((*at_)[position], target[position]) == 0)
            ++position;
        if (position == fill_.size() || fill_[position].compare((*at_)[position], target[position]) > 0)
            return false;
        // Columns behind it run to their TO first.
        for (size_t i = fill_.size() - 1; i > position; --i)
            if (fill_[i].to() && stepInside(i)) return true;
        Value next = fill_[position].stepped((*at_)[position]);
        // What is stale is left out, but the grid goes on.
        while (isStale(position, next) && fill_[position].compare(next, target[position]) < 0) {
            (*at_)[position] = next;
            next = fill_[position].stepped(next);
        }
        const int order = fill_[position].compare(next, target[position]);
        if (order > 0 || isBeyondTo(position, next)) return false;
        (*at_)[position] = next;
        if (order < 0) {
            restart(position + 1);
            return true;
        }
        bool before = false;
        for (size_t i = position + 1; i < fill_.size(); ++i) {
            (*at_)[i] = fill_[i].from() ? *fill_[i].from() : target[i];
            if (!before && fill_[i].compare((*at_)[i], target[i]) > 0) break;
            before |= fill_[i].compare((*at_)[i], target[i]) < 0;
        }
        is_pending_ = !before && compareRows(*at_, target) > 0;
        return before;
    }

    /// Behind the last row of a group: up to TO, or as far as STALENESS lets.
    void endGroup() {
        if (!at_) {
            // No rows at all: FROM … TO alone.
            const bool bounded = std::all_of(fill_.begin(), fill_.end(),
                                             [](const FillColumn& f) { return f.from() && f.to(); });
            if (!bounded || previous_) return;
            at_.emplace();
            for (const FillColumn& column : fill_) {
                if (column.compare(*column.from(), *column.to()) >= 0) return;
                at_->push_back(*column.from());
            }
            out_.addFilled(fill_, *at_, nullptr, 0);
        }
        const Block* prefix = previous_ ? &*previous_ : nullptr;
        if (is_pending_) out_.addFilled(fill_, *at_, prefix, 0);
        is_pending_ = false;
        while (!out_.enough() && advanceToEnd()) out_.addFilled(fill_, *at_, prefix, 0);
        at_.reset();
        last_original_.reset();
    }

    bool advanceToEnd() {
        for (size_t i = fill_.size(); i-- > 0;) {
            if (!fill_[i].to() && !(i == 0 && fill_[i].staleness())) continue;
            if (stepInside(i)) return true;
        }
        return false;
    }

    bool stepInside(size_t i) {
        if ((*at_)[i].isNull()) return false;
        const Value next = fill_[i].stepped((*at_)[i]);
        if (isBeyondTo(i, next) || isStale(i, next)) return false;
        (*at_)[i] = next;
        restart(i + 1);
        return true;
    }

    bool isBeyondTo(size_t i, const Value& next) const {
        return fill_[i].to() && fill_[i].compare(next, *fill_[i].to()) >= 0;
    }

    bool isStale(size_t i, const Value& next) const {
        return fill_[i].staleness() && last_original_ &&
               fill_[i].compare(next, fill_[i].stale((*last_original_)[i])) >= 0;
    }

    /// Columns from `position` on begin anew.
    void restart(size_t position) {
        for (size_t i = position; i < fill_.size(); ++i)
            (*at_)[i] = fill_[i].from() ? *fill_[i].from() : Value();
    }

    int compareRows(const Row& a, const Row& b) const {
        for (size_t i = 0; i < fill_.size(); ++i)
            if (const int order = fill_[i].compare(a[i], b[i]); order != 0) return order;
        return 0;
    }

    Row valuesOf(const Block& block, size_t row) const {
        Row values;
        for (const FillColumn& column : fill_) values.push_back(block.get(column.name()).column->value(row));
        return values;
    }

    /// The ORDER BY columns before the first WITH FILL are the same as in the row before.
    bool samePrefix(const Block& block, size_t row) const {
        for (const plan::SortKey& key : step_.all_keys) {
            if (key.column == fill_[0].name()) return true;
            const ColumnPtr here = block.get(key.column).column;
            if (here->compareAt(row, *previous_->get(key.column).column, 0, 1) != 0) return false;
        }
        return true;
    }

    const plan::FillStep& step_;
    std::vector<FillColumn> fill_;
    FilledRows out_;
    /// Where the grid stands in this group; it goes on over rows of the input that lie beside it.
    std::optional<Row> at_;
    bool is_pending_ = false;  // at_ lies behind the row of the input given out last, and was not given out
    std::optional<Row> last_original_;  // the last one that came from the input
    std::optional<Block> previous_;     // that row, whole
};

}  // namespace

void run(const plan::FillStep& step, const StepPlace& place, Sink& sink) {
    FillSink fill(step, place, sink);
    runStep(*step.input, place.context, fill);
}

}  // namespace shardd::exec
