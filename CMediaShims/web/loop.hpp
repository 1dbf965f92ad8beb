// One thread, its event loop, its mailbox and its deadlines.
#pragma once

#include "common.hpp"

#include <boost/asio/executor_work_guard.hpp>

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

namespace parlor_web {

class Loop;

/// Something with at most one deadline at a time. Only the loop's thread touches it.
class Timed {
public:
    Timed() = default;
    Timed(const Timed &) = delete;
    Timed &operator=(const Timed &) = delete;
    virtual ~Timed();

protected:
    /// The deadline has passed; it is no longer armed.
    virtual void expired() = 0;

private:
    friend class Loop;
    Loop *loop_ = nullptr;
    std::multimap<Clock::time_point, Timed *>::iterator place_;
};

class Loop : public std::enable_shared_from_this<Loop> {
public:
    Loop();
    ~Loop();

    void start(const std::string &name);

    /// Runs it on the loop's thread; from any thread. Order of arrival.
    void post(std::function<void()> work);

    /// No more work comes from outside: the thread ends when everything that runs has ended. Waits for that, except on
    /// the loop's own thread. Whoever calls this has posted the closing of everything before.
    void finish();

    void arm(Timed &timed, Clock::time_point when);
    void disarm(Timed &timed);

    Executor executor() { return io_.get_executor(); }
    asio::io_context &io() { return io_; }

private:
    friend class Timed;
    void drain();
    void schedule();

    // One timer serves every deadline: a queue by time, and the timer set to its head. It is not moved when deadlines
    // move away; it then fires early and is set anew. This order of members matters: whatever the loop still
    // holds at its end may have a place in the queue.
    std::multimap<Clock::time_point, Timed *> queue_;
    std::mutex mutex_;
    std::vector<std::function<void()>> mailbox_;
    asio::io_context io_;
    std::optional<asio::executor_work_guard<Executor>> work_;
    std::optional<Timer> timer_;
    Clock::time_point timer_at_ = Clock::time_point::max();
    std::thread thread_;
};

}  // namespace parlor_web
