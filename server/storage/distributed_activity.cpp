#include "server/storage/distributed_activity.h"

namespace shardd::storage {

std::string_view nameOf(ShardAnswer::State state) {
    switch (state) {
        case ShardAnswer::State::Unneeded:
            return "not needed";
        case ShardAnswer::State::Waiting:
            return "waiting";
        case ShardAnswer::State::Answering:
            return "answering";
        case ShardAnswer::State::Answered:
            return "answered";
        case ShardAnswer::State::LeftOut:
            return "left out";
        case ShardAnswer::State::Failed:
            return "failed";
        case ShardAnswer::State::Stopped:
            return "stopped";
    }
    return "";
}

RemoteReport::RemoteReport(size_t shards, std::string reason) : answers_(shards), asked_at_(shards) {
    for (size_t i = 0; i < shards; ++i) {
        answers_[i].number = static_cast<uint32_t>(i + 1);
        answers_[i].state = ShardAnswer::State::Unneeded;
        answers_[i].reason = reason;
    }
}

void RemoteReport::asked(size_t position) {
    const std::lock_guard lock(mutex_);
    if (position >= answers_.size()) return;
    answers_[position].state = ShardAnswer::State::Waiting;
    answers_[position].reason.clear();
    asked_at_[position] = std::chrono::steady_clock::now();
}

void RemoteReport::ended(size_t position, ShardAnswer::State state, std::string reason) {
    const std::lock_guard lock(mutex_);
    if (position >= answers_.size()) return;
    ShardAnswer& answer = answers_[position];
    if (isFinal(answer.state)) return;
    answer.state = state;
    answer.reason = std::move(reason);
    const auto spent = std::chrono::steady_clock::now() - asked_at_[position];
    answer.microseconds =
        static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::microseconds>(spent).count());
}

std::vector<ShardAnswer> RemoteReport::answers() const {
    const std::lock_guard lock(mutex_);
    std::vector<ShardAnswer> answers = answers_;
    const auto now = std::chrono::steady_clock::now();
    for (size_t i = 0; i < answers.size(); ++i) {
        if (isFinal(answers[i].state)) continue;
        const auto spent = std::chrono::duration_cast<std::chrono::microseconds>(now - asked_at_[i]);
        answers[i].microseconds = static_cast<uint64_t>(spent.count());
    }
    return answers;
}

void RemoteReport::warn(std::string text) {
    const std::lock_guard lock(mutex_);
    warnings_.push_back(std::move(text));
}

std::vector<std::string> RemoteReport::warnings() const {
    const std::lock_guard lock(mutex_);
    return warnings_;
}

void GroupFindings::countChecked(uint64_t groups) {
    const std::lock_guard lock(mutex_);
    checked_ += groups;
}

bool GroupFindings::found(uint64_t groups) {
    const std::lock_guard lock(mutex_);
    misplaced_ += groups;
    return samples_.size() < kMostSamples;
}

void GroupFindings::addSample(std::string text) {
    const std::lock_guard lock(mutex_);
    if (samples_.size() < kMostSamples) samples_.push_back(std::move(text));
}

uint64_t GroupFindings::checked() const {
    const std::lock_guard lock(mutex_);
    return checked_;
}

uint64_t GroupFindings::misplaced() const {
    const std::lock_guard lock(mutex_);
    return misplaced_;
}

std::vector<std::string> GroupFindings::samples() const {
    const std::lock_guard lock(mutex_);
    return samples_;
}

void DistributedActivity::add(ReadActivity read) {
    const std::lock_guard lock(mutex_);
    reads_.push_back(std::move(read));
}

std::vector<ReadActivity> DistributedActivity::reads() const {
    const std::lock_guard lock(mutex_);
    return reads_;
}

void DistributedActivity::setTotalStates(Block states) {
    const std::lock_guard lock(mutex_);
    total_states_ = std::move(states);
}

std::optional<Block> DistributedActivity::totalStates() const {
    const std::lock_guard lock(mutex_);
    return total_states_;
}

}  // namespace shardd::storage
