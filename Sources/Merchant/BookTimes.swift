import MerchantWire
import StoreWire

/// The times of one change or reading of the books, all read at its beginning, in milliseconds since 1970.
///
/// A store's clock need not be the machine's: the clocks of a Cornerstore can be moved, the sandbox's and production's
/// separately. The dates of purchases, periods and refunds are the store's. Whether a right or a period is active, over
/// or in its grace period therefore follows the clock of the environment in which it was bought. A refund or a transfer
/// counts whatever the clock says (``Right/state(expiresAt:graceUntil:revokedAt:at:)``). Balances follow the clock of
/// their environment, which is production's for joined balances (``MerchantPolicy/joinsEnvironments``).
///
/// Everything between the merchant and its own surroundings follows the machine's clock: events and their delivery,
/// requests to the store, received notifications, counted downloads and how long records are kept.
struct BookTimes: Sendable {
    /// The machine's time.
    let machine: Int64
    /// The time of the production store.
    let production: Int64
    /// The time of the sandbox.
    let sandbox: Int64

    /// Creates the times of stores whose clocks are the machine's.
    init(_ machine: Int64) { self.init(machine: machine, production: machine, sandbox: machine) }

    /// Creates the times.
    init(machine: Int64, production: Int64, sandbox: Int64) {
        (self.machine, self.production, self.sandbox) = (machine, production, sandbox)
    }

    /// The time of an environment's store.
    subscript(environment: StoreEnvironment) -> Int64 {
        switch environment {
        case .production: production
        case .sandbox: sandbox
        }
    }

    /// The time of the store that a redemption, a subscription or the source of a right belongs to.
    /// - Parameter key: the text of a ``RedemptionKey``, or a subscription's key.
    subscript(key key: String) -> Int64 { self[RedemptionKey.environment(of: key)] }

    /// The time of an account.
    /// - Parameter name: the account's ``CreditAccount/name``.
    subscript(account name: CurrencyID) -> Int64 { self[CreditAccount(named: name).environment] }
}

extension Merchant {
    /// The times at this moment.
    var times: BookTimes {
        let machine = now()
        guard let storeClock else { return BookTimes(machine) }
        return BookTimes(machine: machine, production: storeClock(.production), sandbox: storeClock(.sandbox))
    }
}
