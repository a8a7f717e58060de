import Foundation
import NIOCore
import TestSupport
import Testing

@testable import CornerstoreCommands

@Suite(.timeLimit(.minutes(1))) struct ControlCommandTests {
    @Test func theClockObeys() async throws {
        try await RunningStore.with { store in
            let set = try await store.run("clock set 2027-01-31T12:00:00Z --json").output.object()
            #expect(set["frozen"] as? Bool == false)
            #expect(await store.run("clock freeze").status == 0)
            #expect(
                await store.run("clock set 2027-01-31T12:00:00Z").output.hasPrefix("2027-01-31T12:00:00.000Z  frozen"))
            let advanced = try await store.run("clock advance 3d12h --json").output.object()
            #expect(advanced["now"] as? String == "2027-02-04T00:00:00.000Z")
            #expect(Set(advanced.keys) == ["now", "milliseconds", "frozen", "offset"])
            let back = try await store.run("clock advance --json -- -1h").output.object()
            #expect(back["now"] as? String == "2027-02-03T23:00:00.000Z")
            // The other environment's clock is its own.
            #expect(
                await store.run("clock --environment production").output.contains("running with this machine's clock"))
            #expect(await store.run("clock reset").output.contains("running with this machine's clock"))
            let refused = await store.run("clock set yesterday")
            #expect(refused.status == 2)
            #expect(refused.errors.contains("ISO 8601") && refused.errors.contains("yesterday"))
        }
    }

    @Test func faultsAreOrderedListedAndCleared() async throws {
        try await RunningStore.with { store in
            let ordered = try await store.run("fault order verifyReceipt 21005 --count 3 --json").output.objects()
            #expect(ordered.count == 1)
            #expect(ordered[0]["operation"] as? String == "verifyReceipt")
            #expect(ordered[0]["status"] as? Int == 21005)
            #expect(ordered[0]["count"] as? Int == 3)
            #expect(await store.run("fault").output.contains("21005"))
            for (line, word) in [
                ("fault order verifyReceipt 503", "21005"), ("fault order purchases 700", "500 to 599"),
                ("fault order nothing 503", "verifyReceipt, products"), ("fault order finish unknown", "by name"),
                ("fault order purchases cut-after:7", "download"),
            ] {
                let refused = await store.run(line)
                #expect(refused.status == 2, "\(line)")
                #expect(refused.output.isEmpty && refused.errors.contains(word), "\(refused.errors)")
            }
            #expect(try await store.run("fault clear --json").output.objects().isEmpty)
            #expect(await store.run("fault").output == "No faults.\n")
        }
    }

    @Test func `Apps show their secrets, and the commands that a start suggests can be copied`() async throws {
        try await RunningStore.with { store in
            var report = ServeReport(store.application, store.addresses)
            (report.dataDirectory, report.merchantProducts) = ("/srv/my store", 0)
            var configuration = store.application.store.configuration
            (configuration.databaseURL, configuration.schemaPrefix) = ("postgres://store:hush@localhost/x", "shop")
            let text = report.text(Style(isColored: false), configuration)
            #expect(text.contains("cornerstore buy com.example.app.coins --data '/srv/my store'\n"))
            let load = "CORNERSTORE_DATA='/srv/my store' cornerstore merchant products load FILE"
            #expect(text.contains("\(load) --database URL --schema shop_merchant\n") && !text.contains("hush"))

            let apps = try await store.run("app list --json").output.objects()
            #expect(apps.count == 1)
            #expect(apps[0]["bundleId"] as? String == "com.example.app")
            #expect(apps[0]["productIds"] as? [String] == ["com.example.app.coins", "com.example.app.pro"])
            let secret = try #require(apps[0]["sharedSecret"] as? String)
            #expect(await store.run("app").output.contains(secret))
            let file = try String(contentsOfFile: store.data + "/shared-secrets.json", encoding: .utf8).object()
            #expect(file["com.example.app"] as? String == secret)
        }
    }

    @Test func accountsAreMadeAndChanged() async throws {
        try await RunningStore.with { store in
            let password = store.directory.path("password")
            try Data("correct horse\n".utf8).write(to: URL(fileURLWithPath: password))
            let made = try await store.run(
                "account create a+b@example.com --storefront DEU --asks-to-buy --json --password-file", password
            ).output.object()
            #expect(made["email"] as? String == "a+b@example.com")
            #expect(made["storefront"] as? String == "DEU")
            #expect(made["asksToBuy"] as? Bool == true)
            let changed = try await store.run("account change a+b@example.com --asks-to-buy off --payments off --json")
                .output.object()
            #expect(changed["asksToBuy"] as? Bool == false)
            #expect(changed["paymentsAllowed"] as? Bool == false)
            #expect(changed["storefront"] as? String == "DEU")
            let twice = await store.run("account create a+b@example.com --password-file", password)
            #expect(twice.status == 1)
            #expect(!twice.errors.contains("correct horse"))
            #expect(await store.run("account change nobody@example.com --locked on").status == 1)
            #expect(
                await store.run("account create new@example.com --storefront XXX --password-file", password).status == 1
            )
            #expect(try await store.run("account list --json").output.objects().count == 2)
            #expect(try await store.run("account list --json -e production").output.objects().isEmpty)
        }
    }

    @Test func rulesAndListsOfAnEmptyStore() async throws {
        try await RunningStore.with { store in
            let rules = try await store.run("payment-rule add dear --minimum 1.50 --count 2 --json").output.objects()
            #expect(rules.count == 1)
            #expect(rules[0]["minimumAmount"] as? Int == 1500)
            #expect(await store.run("payment-rule add x --minimum much").status == 2)
            #expect(await store.run("payment-rule add x --account nobody@example.com").status == 1)
            #expect(await store.run("payment-rule clear").output == "No rules. The store accepts every payment.\n")
            #expect(try await store.run("transaction list --json").output.objects().isEmpty)
            #expect(await store.run("transaction list").output == "No transactions in sandbox.\n")
            #expect(await store.run("transaction list --before nonsense").status == 1)
            #expect(await store.run("purchase").output == "No pending purchases.\n")
            #expect(await store.run("purchase approve 8C5B3A5E-0000-0000-0000-000000000000").status == 1)
        }
    }

    @Test func `A slow, long or lost response is not reported as a store that does not run`() async throws {
        let server = try RawServer { connection, _ in
            let request = connection.read()
            if request.contains(" /slow ") { _ = connection.readToEnd() }
            guard request.contains(" /long ") else { return }
            connection.write("HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: close\r\n\r\nlong.")
        }
        defer { server.close() }
        let slow = await #expect(throws: CommandError.self) {
            _ = try await PlainHTTP.send(
                "PUT", server.url + "slow", body: Data?.none, limit: 4, timeout: TimeAmount.milliseconds(200))
        }
        let text = slow?.detail ?? ""
        #expect(text.contains("has not answered within") && text.contains("may have been made"))
        let long = await #expect(throws: CommandError.self) {
            _ = try await PlainHTTP.send("GET", server.url + "long", body: nil, limit: 4)
        }
        #expect(long?.detail.contains("longer than 4 bytes") == true)
        for (method, advice) in [
            ("GET", "Run the command again."),
            ("POST", "The change may have been made. Check it before you run the command again."),
        ] {
            let lost = await #expect(throws: CommandError.self) {
                _ = try await PlainHTTP.send(method, server.url + "lost", body: nil, limit: 4)
            }
            let place = server.url.dropLast()
            #expect(lost?.detail == "\(place) ended the connection before it answered. \(advice)")
        }
    }

    @Test func otherPortsAreNotTheControlPort() async throws {
        try await RunningStore.with { store in
            let answer = await store.run("clock --control", store.addresses.sandbox)
            #expect(answer.status == 1)
            #expect(await store.run("clock --control", store.addresses.control).status == 0)
        }
    }
}
