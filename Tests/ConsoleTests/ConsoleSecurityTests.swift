import Foundation
import HTTPTypes
import TestSupport
import Testing

@testable import Console

@Suite(.timeLimit(.minutes(1))) struct ConsoleSecurityTests {
    /// Numbers in addresses come from anybody who makes a link.
    @Test func aPageBeyondAllRowsIsEmpty() async throws {
        try await RunningConsole.with { console async throws in
            let browser = console.browser()
            for query in ["products?app=com.example.monkeys&from=", "subscriptions?codes=", "api-keys?keys="] {
                for number in ["\(Int.max)", "\(Int.min)", "99999999999999999999", "-1"] {
                    #expect(try await browser.get("/sandbox/\(query)\(number)").status == 200, "\(query)\(number)")
                }
            }
        }
    }

    @Test func onlyNamesOfThisMachineGetIn() async throws {
        try await RunningConsole.with { console in
            let browser = console.browser()
            for host in ["cornerstore.localhost:8420", "localhost", "127.0.0.1:1", "[::1]:8420", "LOCALHOST:1"] {
                #expect(try await browser.send(.get, "/sandbox", headers: [("Host", host)]).status == 200, "\(host)")
            }
            for host in ["evil.example", "cornerstore.localhost.evil.example", "127.0.0.1.evil.example", "[::2]"] {
                let page = try await browser.send(.get, "/sandbox", headers: [("Host", host)])
                #expect(page.status == 421 && !page.text.contains("tester@"), "\(host)")
            }
        }
        try await RunningConsole.with(adminToken: "s3cret", publicHost: "console.example") { console async throws in
            let browser = console.browser()
            #expect(try await browser.send(.get, "/sign-in", headers: [("Host", "console.example")]).status == 200)
            #expect(try await browser.send(.get, "/sign-in", headers: [("Host", "other.example")]).status == 421)
        }
    }

    @Test func everyAnswerLimitsWhatPagesLoad() async throws {
        try await RunningConsole.with { console in
            let browser = console.browser()
            for path in ["/sandbox", "/nowhere", "/mars/clock", "/sandbox/transactions/1"] {
                let page = try await browser.get(path)
                let policy = try #require(page.headers[.contentSecurityPolicy])
                #expect(
                    policy.contains("default-src 'none'") && policy.contains("trusted-types cornerstore"), "\(path)")
                #expect(policy.contains("frame-ancestors 'none'") && !policy.contains("unsafe"))
                #expect(page.headers[.xContentTypeOptions] == "nosniff" && page.headers[.cacheControl] == "no-store")
                #expect(page.headers[.referrerPolicy] == "no-referrer")
            }
        }
    }

    @Test func aFormNeedsItsTokenAndTheConsolesOrigin() async throws {
        try await RunningConsole.with { console in
            let browser = console.browser()
            let page = try await browser.get("/sandbox/clock")
            let action = "/sandbox/clock/freeze"
            let token = try #require(page.form(action)?.first { $0.0 == "token" }?.1)
            func freeze(_ body: String, _ headers: [(String, String)] = [], cookie: Bool = true) async throws -> Int {
                try await browser.send(.post, action, body: body, headers: headers, keepsCookie: cookie).status
            }
            #expect(try await freeze("") == 403)
            #expect(try await freeze("token=\(String(repeating: "0", count: 64))") == 403)
            let reset = try #require(page.form("/sandbox/clock/reset")?.first { $0.0 == "token" }?.1)
            #expect(try await freeze("token=\(reset)") == 403)
            let other = console.browser()
            let refused = try await other.send(.post, action, body: "token=\(token)")
            #expect(refused.status == 403 && refused.text.contains("another session"))
            #expect(
                try await console.browser().send(.get, "/console/events", headers: [("Sec-Fetch-Site", "cross-site")])
                    .status == 403)
            for site in ["cross-site", "same-site", "none"] {
                #expect(try await freeze("token=\(token)", [("Sec-Fetch-Site", site)]) == 403, "\(site)")
            }
            let none = ("Sec-Fetch-Site", "")
            for origin in ["http://evil.example", "null", "http://localhost:8420", ""] {
                #expect(try await freeze("token=\(token)", [none, ("Origin", origin)]) == 403, "\(origin)")
            }
            #expect(console.store.sandbox.clock.current == .running(offset: 0))
            let own = [none, ("Origin", "http://\(RunningConsole.host)")]
            #expect(try await freeze("token=\(token)", own) == 303)
            #expect(console.store.sandbox.clock.current != .running(offset: 0))
            // The refused page is sent again with its new session.
            #expect(try await other.submit(refused, "/sandbox/clock/reset").status == 303)
        }
    }

    @Test func aSecretDisappearsWithoutScriptsToo() async throws {
        try await RunningConsole.with { console in
            let browser = console.browser()
            let settings = try await browser.get("/sandbox/settings")
            let refresh = try #require(HTTPField.Name("Refresh"))
            #expect(settings.headers[refresh] == nil)
            let shown = try await browser.submit(settings, "/sandbox/settings/tester")
            #expect(shown.status == 200 && shown.text.contains("Shown for 30 seconds."))
            #expect(shown.headers[refresh] == "30; url=/sandbox/settings")
            #expect(shown.headers[.cacheControl] == "no-store")
            // A password and a key that were just made are such secrets.
            let customers = try await browser.get("/sandbox/customers")
            let made = try await browser.submit(
                customers, "/sandbox/customers/new", [("email", "new@example.com"), ("pays", "yes")])
            #expect(made.headers[refresh] == "30; url=/sandbox/customers/new%40example.com")
            let merchant = try await browser.get("/sandbox/merchant")
            let key = try await browser.submit(
                merchant, "/sandbox/merchant/keys/make", [("name", "jobs"), ("scopes", "users")])
            #expect(key.headers[refresh] == "30; url=/sandbox/merchant")
            for page in [made, key] {
                #expect(page.status == 200 && page.text.contains("It is shown for 30 seconds, and not again."))
            }
        }
    }

    @Test func noGetChangesAnything() async throws {
        try await RunningConsole.with { console in
            let browser = console.browser()
            for action in PageController.actions {
                _ = try await browser.get("/sandbox/" + action.path.replacing("{", with: "").replacing("}", with: ""))
            }
            #expect(console.asked.take().allSatisfy { $0.hasPrefix("GET ") })
        }
    }

    @Test func theCookieHasANameOfItsOwnAndIsForThisServerOnly() async throws {
        try await RunningConsole.with { console in
            let page = try await console.browser().get("/sandbox")
            let cookie = try #require(page.headers[.setCookie])
            #expect(cookie.hasPrefix("cornerstore-console=") && cookie.contains("; HttpOnly; SameSite=Strict"))
            #expect(!cookie.contains("Domain"))
            let value = cookie.dropFirst("cornerstore-console=".count).prefix { $0 != ";" }
            #expect(value.count == 64 && !page.text.contains(value))
        }
    }

    @Test func peopleSignInWithTheAdminToken() async throws {
        try await RunningConsole.with(adminToken: "s3cret-token") { console in
            let browser = console.browser()
            let first = try await browser.get("/sandbox/customers?start=tester")
            #expect(first.status == 303)
            #expect(first.headers[.location] == "/sign-in?back=%2Fsandbox%2Fcustomers%3Fstart%3Dtester")
            let form = try await browser.follow(first)
            #expect(form.status == 200 && !form.text.contains("s3cret"))
            let wrong = try await browser.submit(form, "/sign-in", [("admin-token", "s3cret")])
            #expect(
                wrong.status == 403 && wrong.text.contains("not the admin token") && wrong.headers[.setCookie] == nil)
            let right = try await browser.submit(form, "/sign-in", [("admin-token", "s3cret-token")])
            #expect(right.status == 303 && right.headers[.location] == "/sandbox/customers?start=tester")
            let list = try await browser.follow(right)
            #expect(list.status == 200 && list.text.contains("tester@sandbox.example"))
            let out = try await browser.submit(list, "/sign-out")
            #expect(out.status == 303)
            #expect(try await browser.get("/sandbox").status == 303)
        }
    }

    @Test func tooManyTriesMustWait() async throws {
        try await RunningConsole.with(adminToken: "s3cret-token") { console in
            let browser = console.browser()
            let form = try await browser.get("/sign-in")
            for _ in 0..<5 {
                #expect(try await browser.submit(form, "/sign-in", [("admin-token", "x")]).status == 403)
            }
            let late = try await browser.submit(form, "/sign-in", [("admin-token", "s3cret-token")])
            #expect(late.status == 429 && late.headers[.retryAfter] != nil)
            console.now.advance(13)
            #expect(try await browser.submit(form, "/sign-in", [("admin-token", "s3cret-token")]).status == 303)
        }
    }

    @Test func aSessionEndsAfterEightIdleHoursAndAfterADay() async throws {
        try await RunningConsole.with(adminToken: "s3cret-token") { console in
            func signedIn() async throws -> TestBrowser {
                let browser = console.browser()
                _ = try await browser.submit(
                    try await browser.get("/sign-in"), "/sign-in", [("admin-token", "s3cret-token")])
                return browser
            }
            let idle = try await signedIn()
            console.now.advance(8 * 3600 - 1)
            #expect(try await idle.get("/sandbox").status == 200)
            console.now.advance(8 * 3600)
            #expect(try await idle.get("/sandbox").status == 303)
            let busy = try await signedIn()
            for _ in 0..<4 {
                console.now.advance(5 * 3600)
                #expect(try await busy.get("/sandbox").status == 200)
            }
            console.now.advance(4 * 3600)
            #expect(try await busy.get("/sandbox").status == 303)
        }
    }

    @Test func aGoalOfTheSignInIsOnThisServer() async throws {
        try await RunningConsole.with(adminToken: "s3cret-token") { console in
            for goal in ["//evil.example", "http://evil.example", "/\\evil.example", "/a%0d%0aSet-Cookie:x=1"] {
                let browser = console.browser()
                let form = try await browser.get("/sign-in?back=\(goal.percentEncodedForForm)")
                let page = try await browser.submit(form, "/sign-in", [("admin-token", "s3cret-token")])
                let place = try #require(page.headers[.location])
                #expect(place == "/" || place.hasPrefix("/a"), "\(goal)")
                #expect(page.headers[.setCookie]?.contains("x=1") == false)
            }
        }
    }
}
