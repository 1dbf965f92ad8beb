#include "loop.hpp"

#include <boost/asio/post.hpp>

#include <pthread.h>
#include <signal.h>

namespace parlor_web {

Timed::~Timed() {
    if (loop_ != nullptr) {
        loop_->disarm(*this);
    }
}

Loop::Loop() : io_(1) {
    work_.emplace(io_.get_executor());
    timer_.emplace(io_);
}

Loop::~Loop() { timer_.reset(); }

void Loop::start(const std::string &name) {
    thread_ = std::thread([self = shared_from_this(), name] {
        pthread_setname_np(pthread_self(), name.substr(0, 15).c_str());
        sigset_t all;
        sigfillset(&all);
        pthread_sigmask(SIG_BLOCK, &all, nullptr);
        self->io_.run();
    });
}

void Loop::post(std::function<void()> work) {
    bool was_empty;
    {
        const std::lock_guard<std::mutex> lock(mutex_);
        was_empty = mailbox_.empty();
        mailbox_.push_back(std::move(work));
    }
    if (was_empty) {
        asio::post(io_, [this] { drain(); });
    }
}

void Loop::drain() {
    std::vector<std::function<void()>> work;
    {
        const std::lock_guard<std::mutex> lock(mutex_);
        work.swap(mailbox_);
    }
    for (auto &item : work) {
        item();
        item = nullptr;
    }
}

void Loop::finish() {
    post([this] {
        work_.reset();
        // Deadlines that are still armed must fire, for they end the last connections; the last one disarmed cancels.
        if (queue_.empty()) {
            timer_->cancel();
        }
    });
    if (!thread_.joinable()) {
        return;
    }
    if (thread_.get_id() == std::this_thread::get_id()) {
        thread_.detach();
    } else {
        thread_.join();
    }
}

void Loop::arm(Timed &timed, Clock::time_point when) {
    if (timed.loop_ == nullptr) {
        timed.place_ = queue_.emplace(when, &timed);
        timed.loop_ = this;
    } else {
        auto node = queue_.extract(timed.place_);
        node.key() = when;
        timed.place_ = queue_.insert(std::move(node));
    }
    if (when < timer_at_) {
        schedule();
    }
}

void Loop::disarm(Timed &timed) {
    if (timed.loop_ == nullptr) {
        return;
    }
    queue_.erase(timed.place_);
    timed.loop_ = nullptr;
    if (queue_.empty() && timer_.has_value() && timer_at_ != Clock::time_point::max()) {
        timer_at_ = Clock::time_point::max();
        timer_->cancel();
    }
}

void Loop::schedule() {
    if (queue_.empty()) {
        timer_at_ = Clock::time_point::max();
        return;
    }
    timer_at_ = queue_.begin()->first;
    timer_->expires_at(timer_at_);
    timer_->async_wait([this](error_code error) {
        if (error) {
            return;
        }
        const auto now = Clock::now();
        timer_at_ = Clock::time_point::max();
        while (!queue_.empty() && queue_.begin()->first <= now) {
            Timed *timed = queue_.begin()->second;
            queue_.erase(queue_.begin());
            timed->loop_ = nullptr;
            timed->expired();
        }
        schedule();
    });
}

}  // namespace parlor_web
