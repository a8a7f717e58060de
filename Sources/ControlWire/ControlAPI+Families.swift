/// Families of accounts, which share purchases.
extension ControlAPI {
    /// A family.
    public struct Family: Codable, Sendable, Equatable {
        /// The identifier of the account that organizes the family.
        public var organizerId: String
        /// The members in the order in which they joined, the organizer first; at most six.
        public var members: [FamilyMember]

        /// Creates a family.
        public init(organizerId: String, members: [FamilyMember]) {
            self.organizerId = organizerId
            self.members = members
        }
    }

    /// A member of a family.
    public struct FamilyMember: Codable, Sendable, Equatable {
        /// The account.
        public var accountId: String
        /// The account's e-mail address; nil when the account does not exist any more.
        public var account: String?
        /// Whether the other members get what this one buys.
        public var shares: Bool
        /// The date on which the account joined.
        public var joinedDate: String

        /// Creates a member.
        public init(accountId: String, account: String?, shares: Bool, joinedDate: String) {
            self.accountId = accountId
            self.account = account
            self.shares = shares
            self.joinedDate = joinedDate
        }
    }

    /// A new family, or a new member of one.
    public struct NewFamilyMember: Codable, Sendable {
        /// The e-mail address or the identifier of the account.
        public var account: String

        /// Creates a new member.
        public init(account: String) { self.account = account }
    }

    /// A change of a member.
    public struct FamilyMemberChange: Codable, Sendable {
        /// Whether the other members get what this one buys.
        public var shares: Bool

        /// Creates a change.
        public init(shares: Bool) { self.shares = shares }
    }
}
