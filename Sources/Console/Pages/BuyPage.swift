import ConsolePages
import ControlWire
import Crypto
import Foundation
import StoreWire

/// Buying as a customer: what `cornerstore buy` does, through the device's protocol.
enum BuyPage {
    static let routes = [PageRoute(path: "buy", area: .customers, make: make)]

    static let actions = [
        ConsoleAction(
            path: "buy",
            routes: [
                .device(.signIn), .device(.purchases), .device(.finish(TransactionID(rawValue: 1))), .device(.signOut),
            ], page: "buy", change: "buy as a customer", perform: buy)
    ]

    @Sendable private static func make(_ request: PageRequest) async throws -> ConsolePage {
        var page = ConsolePage("Buy as a customer")
        page.trail = [ConsoleLink("Customers", request.link("customers"))]
        page.text = "The console signs in as a device of the customer, buys, finishes the transaction, and signs out."
        let tester = request.environment == .sandbox ? request.api.backends.tester() : nil
        let typed = request.refused["product"]
        let account =
            request.refused["email"]?.trimmingCharacters(in: .whitespacesAndNewlines) ?? request.filter("account")
            ?? tester?.email ?? ""
        var section = ConsoleSection("buy", "Purchase")
        let options = CustomerPages.productOptions(request, chosen: typed ?? request.filter("product"))
        if options.isEmpty {
            section.warning =
                "There is no product to buy here. Load a catalog file, or create a product in the managed catalog."
        }
        section.forms = [
            ConsoleForm(
                action: request.action("buy"),
                fields: [
                    ConsoleField("email", "Customer", .email, value: account, isRequired: true),
                    ConsoleField(
                        "password", "Password", .password,
                        hint: tester.map { "Leave it empty for \($0.email), whose password this machine keeps." }),
                    ConsoleField("product", "Product", .choice, options: options),
                    ConsoleField("quantity", "Quantity", .number, value: "1"),
                    ConsoleField(
                        "username", "applicationUsername", hint: "The app's own identifier of its user; may be empty."),
                    ConsoleField(
                        "finish", "Finish the transaction", .tick, hint: "Off leaves it for the app to deliver.",
                        isOn: true),
                ], hidden: [ConsoleHidden("key", UUID().uuidString)], button: "Buy")
        ]
        page.sections = [section]
        let chosen = (options.first(where: \.isChosen) ?? options.first)?.value.split(separator: " ", maxSplits: 1)
        let product = chosen.flatMap { words -> String? in
            guard words.count == 2 else { return nil }
            return String(words[1]).shellWord + (request.apps.count > 1 ? " --app \(String(words[0]).shellWord)" : "")
        }
        let command = request.buyCommand(
            product, account: account.isEmpty || account == tester?.email ? nil : account)
        page.commands = [ConsoleCode("Command", command + typedOptions(request))]
        return page
    }

    /// The options of the command for what was typed into a form that was refused.
    private static func typedOptions(_ request: PageRequest) -> String {
        let quantity = request.refused["quantity"]?.nonEmpty.flatMap { $0 == "1" ? nil : " --quantity \($0.shellWord)" }
        let username = request.refused["username"]?.nonEmpty.map { " --username \($0.shellWord)" }
        return (quantity ?? "") + (username ?? "")
    }

    @Sendable private static func buy(_ action: ActionRequest) async throws -> ActionOutcome {
        let (bundle, product) = try CustomerPages.product(action)
        let email = try action.required("email", "Customer")
        let tester = action.environment == .sandbox ? action.api.backends.tester() : nil
        guard let password = action.form["password"]?.nonEmpty ?? (tester?.email == email ? tester?.password : nil)
        else {
            throw FormProblem("password", "Type the customer's password.")
        }
        // A reload of the answer sends the same key, so that it buys nothing twice.
        guard let key = action.text("key").flatMap(UUID.init(uuidString:)) else {
            throw FormProblem("", "The form has no key. Load the page again.")
        }
        let quantity = try action.number("quantity", "Quantity", 1...10, otherwise: 1)
        let store = action.environment
        let session: SignInResponse = try await action.api.device(
            store, .signIn, SignInRequest(email: email, password: password, deviceID: device(of: email)))
        let outcome: ActionOutcome
        do {
            outcome = try await buy(
                action,
                PurchaseRequest(
                    idempotencyKey: key, bundleID: BundleID(bundle), productID: ProductID(product), quantity: quantity,
                    applicationUsername: action.text("username"), simulatesAskToBuy: false, agreedPrice: nil),
                session.token, email)
        } catch {
            try? await action.api.deviceCommand(store, .signOut, token: session.token)
            throw error
        }
        try? await action.api.deviceCommand(store, .signOut, token: session.token)
        return outcome
    }

    private static func buy(
        _ action: ActionRequest, _ purchase: PurchaseRequest, _ token: String, _ email: String
    ) async throws -> ActionOutcome {
        let answer: PurchaseResponse = try await action.api.device(
            action.environment, .purchases, purchase, token: token)
        switch answer.state {
        case .purchased:
            guard let transaction = answer.transaction else { break }
            var message = "\(email) bought \(purchase.productID.rawValue)."
            if action.isOn("finish") {
                do {
                    try await action.api.deviceCommand(
                        action.environment, .finish(transaction.transactionID), token: token)
                } catch let problem as APIProblem {
                    // The purchase is made. The form, shown again, would buy a second time.
                    message += " Finishing failed, so the app still has to deliver it: \(problem.message)"
                }
            }
            return .done("transactions/\(transaction.transactionID)", message: message)
        case .deferred:
            return .done(
                "", message: "The purchase of \(purchase.productID.rawValue) waits for approval. Approve it below.")
        case .failed:
            break
        }
        throw APIProblem(
            status: 422, code: answer.failure?.code.rawValue ?? "failed",
            message: "The purchase failed: " + (answer.failure?.message ?? "the store gave no reason."))
    }

    /// The same device for each purchase of a customer from the console.
    private static func device(of email: String) -> UUID {
        let bytes = Array(SHA256.hash(data: Array("console device of \(email.lowercased())".utf8)).prefix(16))
        return UUID(
            uuid: (
                bytes[0], bytes[1], bytes[2], bytes[3], bytes[4], bytes[5], bytes[6] & 0x0F | 0x80,
                bytes[7], bytes[8] & 0x3F | 0x80, bytes[9], bytes[10], bytes[11], bytes[12], bytes[13], bytes[14],
                bytes[15]
            ))
    }
}
