import StoreWire
import X509

/// The position of a key and its certificate in the authority.
enum AuthorityMember: Sendable, Hashable {
    /// The two chains.
    enum Purpose: String, Sendable, Hashable, CaseIterable {
        case receipts = "receipt"
        case jws
    }

    case root(Purpose)
    case intermediate(Purpose)
    case leaf(Purpose, StoreEnvironment)

    /// All members, each issuer before the members that it issues.
    static let all: [AuthorityMember] = Purpose.allCases.flatMap { purpose in
        [.root(purpose), .intermediate(purpose)] + StoreEnvironment.allCases.map { .leaf(purpose, $0) }
    }

    /// The members whose certificates name the OCSP responder: the JWS chain below its root.
    static let checkedOnline: [AuthorityMember] =
        [.intermediate(.jws)] + StoreEnvironment.allCases.map { AuthorityMember.leaf(.jws, $0) }

    var fileName: String {
        switch self {
        case .root(let purpose): "\(purpose.rawValue)-root.pem"
        case .intermediate(let purpose): "\(purpose.rawValue)-intermediate.pem"
        case .leaf(let purpose, let environment): "\(purpose.rawValue)-\(environment.name).pem"
        }
    }

    var keyKind: AuthorityKey.Kind {
        switch self {
        case .root(.receipts), .intermediate(.receipts), .leaf(.receipts, _): .rsa
        case .root(.jws), .intermediate(.jws): .p384
        case .leaf(.jws, _): .p256
        }
    }

    var issuer: AuthorityMember? {
        switch self {
        case .root: nil
        case .intermediate(let purpose): .root(purpose)
        case .leaf(let purpose, _): .intermediate(purpose)
        }
    }

    var profile: CertificateProfile {
        switch self {
        case .root(.receipts): CertificateProfile(commonName: "Cornerstore TEST Root CA", role: .root)
        case .root(.jws): CertificateProfile(commonName: "Cornerstore TEST Root CA - ECC", role: .root)
        case .intermediate(.receipts):
            CertificateProfile(commonName: "Cornerstore TEST Receipt Issuing CA", role: .intermediate)
        case .intermediate(.jws): CertificateProfile(commonName: "Cornerstore TEST JWS Issuing CA", role: .intermediate)
        case .leaf(.receipts, let environment):
            CertificateProfile(commonName: "Cornerstore TEST \(environment.rawValue) Receipt Signing", role: .leaf)
        case .leaf(.jws, let environment):
            CertificateProfile(
                commonName: "Cornerstore TEST \(environment.rawValue) JWS Signing", role: .leaf, hasPolicy: true)
        }
    }

    /// Makes all members of the authority.
    static func makeAll() async throws(ReceiptAuthorityError) -> [AuthorityMember: AuthorityIdentity] {
        try await make(all, knowing: [:])
    }

    /// Makes new keys and certificates for `members`, issued by each other or by members in `known`. The keys are made
    /// concurrently, because RSA keys take long.
    /// - Parameter ocspURL: the address that certificates checked online name; nil if they name none.
    static func make(
        _ members: [AuthorityMember], knowing known: [AuthorityMember: AuthorityIdentity], ocspURL: String? = nil
    ) async throws(ReceiptAuthorityError) -> [AuthorityMember: AuthorityIdentity] {
        do {
            var keys: [AuthorityMember: AuthorityKey] = [:]
            try await withThrowingTaskGroup(of: (AuthorityMember, AuthorityKey).self) { group in
                for member in members {
                    group.addTask { (member, try AuthorityKey.generate(member.keyKind)) }
                }
                for try await (member, key) in group { keys[member] = key }
            }
            var identities = known
            for member in members {
                guard let key = keys[member] else { continue }
                identities[member] = try member.profile.issue(
                    key: key, issuer: member.issuer.flatMap { identities[$0] },
                    ocspURL: checkedOnline.contains(member) ? ocspURL : nil)
            }
            return identities
        } catch {
            throw ReceiptAuthorityError(.signing, "new keys or certificates could not be made: \(error)")
        }
    }
}

/// One chain of the authority, whose certificates are known to issue one another.
struct AuthorityHierarchy {
    let purpose: AuthorityMember.Purpose
    let root: AuthorityIdentity
    private let intermediate: AuthorityIdentity
    private let leaves: [StoreEnvironment: AuthorityIdentity]

    /// Checks the chain.
    /// - Throws: `damaged` if a certificate is missing or was not issued by the one above it.
    init(
        _ purpose: AuthorityMember.Purpose, _ identities: [AuthorityMember: AuthorityIdentity]
    ) throws(ReceiptAuthorityError) {
        self.purpose = purpose
        root = try Self.issued(.root(purpose), identities)
        intermediate = try Self.issued(.intermediate(purpose), identities)
        var leaves: [StoreEnvironment: AuthorityIdentity] = [:]
        for environment in StoreEnvironment.allCases {
            leaves[environment] = try Self.issued(.leaf(purpose, environment), identities)
        }
        self.leaves = leaves
    }

    func receiptSigner(_ environment: StoreEnvironment) throws(ReceiptAuthorityError) -> ReceiptSigner {
        guard let leaf = leaves[environment], case .rsa(let key) = leaf.key else {
            throw Self.damaged(.leaf(purpose, environment))
        }
        return try ReceiptSigner(key: key, certificates: [leaf.der, intermediate.der, root.der])
    }

    func jwsIdentity(_ environment: StoreEnvironment) throws(ReceiptAuthorityError) -> JWSIdentity {
        guard let leaf = leaves[environment], case .p256(let key) = leaf.key else {
            throw Self.damaged(.leaf(purpose, environment))
        }
        return JWSIdentity(privateKey: key, certificates: [leaf.der, intermediate.der, root.der])
    }

    private static func issued(
        _ member: AuthorityMember, _ identities: [AuthorityMember: AuthorityIdentity]
    ) throws(ReceiptAuthorityError) -> AuthorityIdentity {
        guard let identity = identities[member], let issuer = identities[member.issuer ?? member],
            identity.certificate.issuer == issuer.certificate.subject,
            issuer.certificate.publicKey.isValidSignature(identity.certificate.signature, for: identity.certificate)
        else { throw damaged(member) }
        return identity
    }

    private static func damaged(_ member: AuthorityMember) -> ReceiptAuthorityError {
        ReceiptAuthorityError(
            .damaged, "\(member.fileName) does not fit the authority's other files; restore them from one copy")
    }
}
