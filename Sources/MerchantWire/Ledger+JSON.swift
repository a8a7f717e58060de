import CornerstoreEncoding
import StoreWire

// The merchant's one reader of spends and adjustments, and its one writer of balances and spends. Clients use
// `Codable`; the tests fill every field and compare the two.

extension SpendRequest: JSONReadable {
    package init(_ members: FlatJSONObject) throws(FlatJSONScanner.Failure) {
        self.init(
            key: try members.string(required: "key"), currency: CurrencyID(try members.string(required: "currency")),
            amount: try members.wholeNumber(required: "amount"), note: try members.string("note"),
            environment: try members.choice("environment", of: StoreEnvironment.self))
    }
}

extension AdjustmentRequest: JSONReadable {
    package init(_ members: FlatJSONObject) throws(FlatJSONScanner.Failure) {
        self.init(
            key: try members.string(required: "key"), currency: CurrencyID(try members.string(required: "currency")),
            amount: try members.wholeNumber(required: "amount"), note: try members.string("note"),
            environment: try members.choice("environment", of: StoreEnvironment.self))
    }
}

extension SpendAnswer: JSONWritable {
    package func write(to json: inout JSONBytes) {
        json.member("amount", number: amount)
        json.member("balance", number: balance)
        json.member("currency", currency.rawValue)
        json.member("entry", number: entry)
        json.member("environment", environment.rawValue)
        json.member("key", key)
    }
}

extension BalanceList: JSONWritable {
    package func write(to json: inout JSONBytes) { json.array("balances", balances) }
}

extension Balance: JSONWritable {
    package func write(to json: inout JSONBytes) {
        json.member("amount", number: amount)
        json.member("currency", currency.rawValue)
        json.member("environment", environment.rawValue)
    }
}
