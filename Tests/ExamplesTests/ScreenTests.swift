import ControlWire
import Foundation
import StoreKit
import TestSupport
import Testing

@testable import DeviceScreen

@Suite(.timeLimit(.minutes(1))) struct ScreenTests {
    @MainActor
    private final class NamedApp {
        var name = ""
    }

    @Test func argumentsOfThePageAreTaken() throws {
        #expect(try ScreenOptions.taken(from: ["--buy", "x"]) == (nil, ["--buy", "x"]))
        #expect(try ScreenOptions.taken(from: ["--web"]) == (ScreenOptions(), []))
        #expect(try ScreenOptions.taken(from: ["--port", "0", "--web"]) == (ScreenOptions(port: 0), []))
        for wrong in [
            ["--web", "--port"], ["--web", "--port", "65536"], ["--web", "--port", "-1"], ["--web", "--port", "x"],
            ["--web", "--buy", "x"], ["--web", "--web"],
        ] {
            #expect(throws: ScreenOptions.Misuse.self) { _ = try ScreenOptions.taken(from: wrong) }
        }
    }

    @Test func whoWaitsLearnsOfAChange() async {
        let changes = ScreenChanges()
        let known = changes.count
        changes.record()
        // A change between the look and the wait is not missed.
        await changes.wait(since: known, upTo: .seconds(50))
        #expect(changes.count == known + 1)
        // Read here: what is written behind `async let` is read in the other task, perhaps after the change.
        let seen = changes.count
        async let waited: Void = changes.wait(since: seen, upTo: .seconds(50))
        changes.record()
        await waited
        await changes.wait(since: changes.count, upTo: .milliseconds(1))
        let task = Task { await changes.wait(since: changes.count, upTo: .seconds(50)) }
        task.cancel()
        await task.value
    }

    @Test func anAppThatLearnsItsNameLateIsListedByIt() async throws {
        try await SampleStore.with { store in
            let app = NamedApp()
            let announcer = ScreenAnnouncer(
                control: URL(string: store.addresses.control), adminToken: nil,
                screen: {
                    ControlAPI.Screen(
                        bundleId: "com.example.app", name: app.name, address: "http://device.localhost:8430",
                        device: "/device", environment: "sandbox")
                })
            for name in ["com.example.app", "Example"] {
                app.name = name
                await announcer.tell(seconds: 30)
                let listed = try await HTTPReply("GET", "\(store.addresses.control)/control/v1/screens")
                    .decoded([ControlAPI.Screen].self)
                #expect(listed.map(\.name) == [name])
            }
        }
    }

    @Test func whoAsksBeforeTheAppHasItsScreenIsAnsweredWithIt() async throws {
        // No file of it is read.
        let configuration = StoreKitConfiguration(
            store: nil, bundleIdentifier: "com.example.app", deviceFolder: URL(fileURLWithPath: "/phone"),
            sheet: AutomaticPaymentSheet(answer: .cancel, credentials: nil))
        let device = ScreenDevice(name: "example", configuration, OperatorAddresses(environment: [:]))
        let holder = ScreenHolder()
        let (server, port) = try await ScreenServer.start(holder, device, port: 0)
        let address = try #require(URL(string: "http://127.0.0.1:\(port)"))
        async let reply = HTTPReply("GET", "\(address)/")
        // This is answered without a screen, and later than the first request is asked.
        #expect(try await HTTPReply("GET", "\(address)/missing").status == 404)
        holder.hold(await DeviceScreen(address: address, device: device, server: server, adminToken: nil))
        let page = try await reply
        #expect(page.status == 200)
        #expect(String(decoding: page.body, as: UTF8.self).contains("The app is starting."))
        server.cancel()
        _ = await server.result
    }

    @Test func addressesOfTheOperatorComeFromVariables() {
        let given = OperatorAddresses(environment: [
            "CORNERSTORE_CONTROL": "http://127.0.0.1:8400", "CORNERSTORE_ADMIN_TOKEN": "secret", "CORNERSTORE_DATA": "",
        ])
        #expect(given.control?.absoluteString == "http://127.0.0.1:8400" && given.adminToken == "secret")
        #expect(given.console == nil)
        #expect(OperatorAddresses(environment: ["CORNERSTORE_CONTROL": "file:///etc/passwd"]).control == nil)
    }
}
