/// The server API's rows about merged and forwarded streams, which this node does not make: refused with a sentence, for
/// those who may ask.
struct JobRoutes: Sendable {
    let gate: ServerGate

    func add(to router: inout Router) {
        let (merging, forwarding) = ("merge", "forward")
        for version in ["v3", "v4"] {
            let room = "/\(version)/apps/:app/rooms/:room"
            for (method, path, job) in [
                ("POST", "/merge_job", merging), ("POST", "/merge_job/:job/tracks", merging),
                ("POST", "/merge_job/:job/watermarks", merging), ("DELETE", "/merge_job/:job", merging),
                ("POST", "/jobs", merging), ("POST", "/jobs/update", merging), ("POST", "/jobs/stop", merging),
                ("POST", "/forward_job", forwarding), ("POST", "/forward_job/delete", forwarding),
            ] {
                router.on(method, room + path) { request in
                    await gate.forRoom(of: request) { _, _ in
                        Answer.error(501, "\(job) jobs are not supported by this node", code: 10053)
                    }
                }
            }
        }
    }
}
