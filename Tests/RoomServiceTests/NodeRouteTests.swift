import MediaContract
import MediaWire
import RoomControl
import RoomService
import RoomTestKit
import Testing
import WebTransport

/// Readiness and draining, by the routes and a clock moved by hand.
@Suite struct NodeRouteTests {
    private struct Status: Decodable, Equatable {
        var state: String
        var rooms: Int
        var users: Int
        var secondsLeft: Double?
    }

    private struct Readiness: Decodable, Equatable {
        var ready: Bool
        var reason: String?
        var secondsLeft: Double?
    }

    private func drain(
        _ node: ServiceFixture, _ method: String, _ body: String = "", key: AccessKey = ServiceFixture.key,
        dated: Bool = true
    ) async -> HTTPResponse {
        var headers: HTTPFields = dated ? ["X-Qiniu-Date": date(node)] : [:]
        if !body.isEmpty { headers["Content-Type"] = "application/json" }
        return await node.server(method, "/v1/node/drain", key: key, headers: headers, body: body)
    }

    private func date(_ node: ServiceFixture, offset: Int64 = 0) -> String {
        RequestSignature.basicDate(unixTime: node.clock.clock.unixTime() + offset)
    }

    private func readiness(_ node: ServiceFixture) async throws -> (status: Int, body: Readiness) {
        let answer = await node.send("GET", "/readyz")
        return (answer.status, try answer.decoded(Readiness.self))
    }

    @Test func aNodeIsReadyWhileItsWorkersAnswer() async throws {
        let node = ServiceFixture(workers: 2)
        var ready = try await readiness(node)
        #expect(ready.status == 503)
        #expect(ready.body == Readiness(ready: false, reason: "worker 0 does not answer"))
        node.plane.setSnapshot(MediaSnapshot(time: .zero), worker: 0)
        await node.clock.advance(by: WorkerFigures.age)
        ready = try await readiness(node)
        #expect(ready.status == 503)
        #expect(ready.body == Readiness(ready: false, reason: "worker 1 does not answer"))
        node.plane.setSnapshot(MediaSnapshot(time: .zero), worker: 1)
        await node.clock.advance(by: WorkerFigures.age)
        ready = try await readiness(node)
        #expect(ready.status == 200)
        #expect(ready.body == Readiness(ready: true))
        #expect(await node.send("GET", "/healthz").text == "ok\n")
    }

    @Test func drainingRefusesNewcomersOnly() async throws {
        let node = ServiceFixture()
        node.plane.setSnapshot(MediaSnapshot(time: .zero))
        let location = try await node.leg("/whip", as: "cam")
        let begun = await drain(node, "POST", #"{"deadline":"10m"}"#)
        #expect(begun.status == 200)
        #expect(try begun.decoded(Status.self) == Status(state: "draining", rooms: 1, users: 1, secondsLeft: 600))

        for (path, user) in [("/whip", "new"), ("/whep", "new"), ("/whep", "cam")] {
            let refused = await node.post(path, as: user)
            #expect(refused.status == 503)
            #expect(refused.headers["Retry-After"] == "\(Admission.retryAfter)")
            #expect(refused.refusal?.code == 10052)
        }
        // A wrong token is still a wrong token, and who is in goes on.
        #expect(await node.send("POST", "/whip", headers: ["Authorization": "Bearer x"]).status == 401)
        #expect(await node.send("GET", location).status == 200)
        let ready = try await readiness(node)
        #expect(ready.status == 503)
        #expect(ready.body == Readiness(ready: false, reason: "draining", secondsLeft: 600))
        #expect(await node.send("GET", "/healthz").status == 200)

        await node.clock.advance(by: .seconds(20))
        #expect(try await drain(node, "GET").decoded(Status.self).secondsLeft == 580)
        let undone = await drain(node, "DELETE")
        #expect(try undone.decoded(Status.self) == Status(state: "open", rooms: 1, users: 1))
        #expect(try await readiness(node).status == 200)
        #expect(await node.post("/whep", as: "new").status == 201)
        await node.clock.advance(by: .seconds(3600))
        #expect(node.deadlines.count == 0)
    }

    @Test func theDeadlineComesOnceAndThereIsNoWayBack() async throws {
        let node = ServiceFixture()
        #expect(await drain(node, "POST", #"{"deadline":5}"#).status == 200)
        // Moved: what counts is the last one.
        #expect(await drain(node, "POST", #"{"deadline":8.5}"#).status == 200)
        await node.clock.advance(by: .milliseconds(8499))
        #expect(node.deadlines.count == 0)
        await node.clock.advance(by: .milliseconds(1))
        #expect(node.deadlines.count == 1)
        #expect(try await drain(node, "GET").decoded(Status.self).state == "stopping")
        #expect(await drain(node, "DELETE").status == 409)
        #expect(await drain(node, "POST").status == 409)
        #expect(try await readiness(node).body.reason == "stopping")
        await node.clock.advance(by: .seconds(100))
        #expect(node.deadlines.count == 1)
    }

    @Test func aDrainWithoutDeadlineLasts() async throws {
        let node = ServiceFixture()
        for body in ["", "{}", #"{"deadline":null}"#] {
            #expect(await drain(node, "POST", body).status == 200, "\(body)")
            #expect(try await drain(node, "GET").decoded(Status.self).secondsLeft == nil)
            await node.clock.advance(by: .seconds(86_400))
        }
        #expect(node.deadlines.count == 0)
    }

    @Test(arguments: [
        "x", "[]", "5", #"{"deadline":-1}"#, #"{"deadline":1e99}"#, #"{"deadline":"10"}"#, #"{"deadline":"10d"}"#,
        #"{"deadline":"m"}"#, #"{"deadline":"-5m"}"#, #"{"deadline":[5]}"#, #"{"deadline":true}"#,
        #"{"deadline":"99999999999999999999h"}"#, #"{"deadline":604801}"#, #"{"deadline":"999999h"}"#,
    ])
    func aBadDeadlineBeginsNothing(body: String) async {
        let node = ServiceFixture()
        let answer = await drain(node, "POST", body)
        #expect(answer.status == 400)
        #expect(answer.refusal?.code == 10053)
        #expect(node.admission.isOpen)
    }

    @Test func onlyTheOperatorMay() async {
        let node = ServiceFixture()
        let other = AccessKey(id: "theirkey", secret: "theirsecret")
        for method in ["GET", "POST", "DELETE"] {
            #expect(await node.send(method, "/v1/node/drain").status == 401)
            #expect(await drain(node, method, key: AccessKey(id: "devkey", secret: "wrong")).status == 401)
            let stranger = await drain(node, method, key: other)
            #expect(stranger.status == 403)
            #expect(stranger.refusal?.code == 10051)
        }
        let nobody = ServiceFixture(operatorKey: nil)
        #expect(await drain(nobody, "POST").status == 403)
        #expect(node.admission.isOpen && nobody.admission.isOpen)
    }

    /// What changes something cannot be sent a second time later.
    @Test func aRequestWithoutDateOrWithAnOldOneIsRefused() async {
        let node = ServiceFixture()
        #expect(await drain(node, "POST", dated: false).status == 400)
        #expect(await drain(node, "DELETE", dated: false).status == 400)
        #expect(await drain(node, "GET", dated: false).status == 200)
        for offset in [-901, 901] as [Int64] {
            let old = await node.server(
                "POST", "/v1/node/drain", headers: ["X-Qiniu-Date": date(node, offset: offset)])
            #expect(old.status == 401)
        }
        #expect(node.admission.isOpen)
    }
}

@Suite struct AdmissionTests {
    @Test func aTimerThatRingsAfterAnUndoDoesNothing() {
        let admission = Admission()
        #expect(admission.beginDrain(deadline: MediaTime(nanoseconds: 10)))
        #expect(admission.state == .draining(deadline: MediaTime(nanoseconds: 10)))
        #expect(!admission.stopIfDue(MediaTime(nanoseconds: 9)))
        #expect(admission.undo())
        #expect(!admission.stopIfDue(MediaTime(nanoseconds: 11)))
        #expect(admission.isOpen)
        #expect(admission.beginDrain(deadline: nil))
        #expect(!admission.stopIfDue(MediaTime(nanoseconds: .max)))
        #expect(admission.beginDrain(deadline: MediaTime(nanoseconds: 20)))
        #expect(admission.stopIfDue(MediaTime(nanoseconds: 20)))
        #expect(!admission.stopIfDue(MediaTime(nanoseconds: 21)))
        #expect(!admission.undo() && !admission.beginDrain(deadline: nil))
        #expect(admission.state == .stopping)
    }

    /// Dates written are dates read, over leap years and centuries.
    @Test func datesOfRequests() {
        #expect(RequestSignature.basicDate(unixTime: 0) == "19700101T000000Z")
        #expect(RequestSignature.basicDate(unixTime: 951_826_332) == "20000229T121212Z")
        #expect(RequestSignature.basicDate(unixTime: 1_893_456_000) == "20300101T000000Z")
        #expect(RequestSignature.basicDate(unixTime: 253_402_300_799) == "99991231T235959Z")
        #expect(RequestSignature.basicDate(unixTime: .max) == "99991231T235959Z")
        #expect(RequestSignature.basicDate(unixTime: -5) == "19700101T000000Z")
    }
}
