import Foundation

/// The server's own state, for the operator: faults met, sheets, requests, settings and the audit list.
extension ControlAPI {
    /// The faults that an operation can take.
    public struct FaultChoice: Codable, Sendable, Equatable {
        /// The operation, such as `purchases`.
        public var operation: String
        /// The statuses that can be ordered, as ranges.
        public var statuses: [StatusRange]
        /// The errors that can be ordered by name; empty when the operation takes none.
        public var errors: [String]
        /// Whether the answer can be cut after a number of bytes.
        public var cut: Bool
        /// The values that can be falsified; empty when the operation takes none.
        public var lies: [String]

        /// Creates a choice.
        public init(operation: String, statuses: [StatusRange], errors: [String], cut: Bool, lies: [String]) {
            self.operation = operation
            self.statuses = statuses
            self.errors = errors
            self.cut = cut
            self.lies = lies
        }
    }

    /// A range of statuses.
    public struct StatusRange: Codable, Sendable, Equatable {
        /// The lowest status.
        public var from: Int
        /// The highest status.
        public var through: Int

        /// Creates a range.
        public init(from: Int, through: Int) {
            self.from = from
            self.through = through
        }
    }

    /// A request that met a fault.
    public struct FaultHit: Codable, Sendable, Equatable {
        /// The fault as it was ordered, with the number of requests that it still applied to afterwards.
        public var fault: Fault
        /// The date by the store's clock.
        public var date: String
        /// The e-mail address of the account whose request met the fault; nil when the request named none that the
        /// store had in its cache.
        public var account: String?

        /// Creates a hit.
        public init(fault: Fault, date: String, account: String? = nil) {
            self.fault = fault
            self.date = date
            self.account = account
        }
    }

    /// An app that runs on a page in a browser.
    public struct Screen: Codable, Sendable, Equatable {
        /// The app's bundle identifier.
        public var bundleId: String
        /// The app's name.
        public var name: String
        /// The page's address, which is of this machine.
        public var address: String
        /// The device's folder.
        public var device: String
        /// The environment of its store, by name.
        public var environment: String

        /// Creates a screen.
        public init(bundleId: String, name: String, address: String, device: String, environment: String) {
            self.bundleId = bundleId
            self.name = name
            self.address = address
            self.device = device
            self.environment = environment
        }
    }

    /// A running app's announcement of its page.
    public struct ScreenAnnouncement: Codable, Sendable, Equatable {
        /// The page.
        public var screen: Screen
        /// For how many seconds it is listed, at most 120; 0 takes it from the list.
        public var seconds: Int

        /// Creates an announcement.
        public init(screen: Screen, seconds: Int) {
            self.screen = screen
            self.seconds = seconds
        }
    }

    /// A payment sheet that waits for an answer.
    public struct WaitingSheet: Codable, Sendable, Equatable {
        /// The sheet's identifier. Anyone who knows it may answer.
        public var id: String
        /// The path of its page on the control port.
        public var path: String
        /// The kind of question, such as `confirm` or `signIn`.
        public var kind: String
        /// The title of the page.
        public var title: String
        /// The e-mail address of the account that must sign in; nil when any account may.
        public var account: String?
        /// How long the sheet has been waiting, in seconds.
        public var age: Int

        /// Creates a waiting sheet.
        public init(id: String, path: String, kind: String, title: String, account: String? = nil, age: Int) {
            self.id = id
            self.path = path
            self.kind = kind
            self.title = title
            self.account = account
            self.age = age
        }
    }

    /// A `verifyReceipt` request, or a request that the store refused.
    public struct LoggedRequest: Codable, Sendable, Equatable {
        /// The request's place in the log; higher for later ones.
        public var number: Int
        /// The date by the machine's clock.
        public var date: String
        /// The environment of the port; nil for the control port and the storefront.
        public var environment: String?
        /// The method, such as `POST`.
        public var method: String
        /// The route's path with the names of parameters in braces; never a value.
        public var route: String
        /// The HTTP status of the answer.
        public var status: Int
        /// The status of a `verifyReceipt` answer; nil for other requests.
        public var receiptStatus: Int?
        /// The error's code; nil when the request succeeded.
        public var code: String?
        /// A sentence about the error; nil when the request succeeded.
        public var reason: String?
        /// The number of the process that answered, whose log this is; nil in a store of one process.
        public var process: Int?

        /// Creates an entry.
        public init(
            number: Int, date: String, environment: String? = nil, method: String, route: String, status: Int,
            receiptStatus: Int? = nil, code: String? = nil, reason: String? = nil, process: Int? = nil
        ) {
            self.number = number
            self.date = date
            self.environment = environment
            self.method = method
            self.route = route
            self.status = status
            self.receiptStatus = receiptStatus
            self.code = code
            self.reason = reason
            self.process = process
        }
    }

    /// The server's addresses, keys and limits. It holds no secret.
    public struct Settings: Codable, Sendable, Equatable {
        /// The version of the program.
        public var version: String
        /// The base URLs by port: `control`, `sandbox`, `production`, `storefront`, and `merchant` where one runs.
        public var addresses: [String: String]
        /// `SQLite` or `PostgreSQL`.
        public var database: String
        /// The folder for everything that the server keeps.
        public var dataDirectory: String
        /// The root certificates.
        public var roots: [Root]
        /// The number of the process in transaction identifiers.
        public var node: Int
        /// Whether every request to the control port must carry an admin token.
        public var needsAdminToken: Bool
        /// The limits by name, in bytes, seconds or numbers as the name says.
        public var limits: [String: Int]
        /// The rates by name: `signInsOfAddress` and `signInsOfAccount` (failed ones), `searchesOfAddress`. A rate that
        /// is missing is not limited. Nil from an older server.
        public var rates: [String: Rate]?
        /// The processes that share the store, as the answering one knows them; nil for a store of one process.
        public var processes: [StoreProcess]?

        /// Creates settings.
        public init(
            version: String, addresses: [String: String], database: String, dataDirectory: String, roots: [Root],
            node: Int, needsAdminToken: Bool, limits: [String: Int], rates: [String: Rate]? = nil,
            processes: [StoreProcess]? = nil
        ) {
            self.version = version
            self.addresses = addresses
            self.database = database
            self.dataDirectory = dataDirectory
            self.roots = roots
            self.node = node
            self.needsAdminToken = needsAdminToken
            self.limits = limits
            self.rates = rates
            self.processes = processes
        }
    }

    /// A process of a store of several processes.
    public struct StoreProcess: Codable, Sendable, Equatable {
        /// The ``state`` of a process that can answer requests.
        public static let ready = "ready"
        /// The ``state`` of a process whose ports are not open yet.
        public static let starting = "starting"
        /// The ``state`` of a process that has given no sign of life for two seconds: it was killed, or has lost the
        /// database.
        public static let silent = "silent"

        /// Its number in transaction identifiers.
        public var node: Int
        /// A name for people, such as `process 4711 on store-1`.
        public var name: String
        /// The base URL of its control port, as it sees it; nil until the port is open.
        public var address: String?
        /// The date of its start.
        public var startedDate: String
        /// Whether it is the process that answers.
        public var isOwn: Bool
        /// `ready`, `starting`, `silent`, or the reason for which its `GET /ready` answers 503.
        public var state: String
        /// The seconds since its last sign of life; 0 for the process that answers.
        public var silence: Int

        /// Creates a process.
        public init(
            node: Int, name: String, address: String?, startedDate: String, isOwn: Bool, state: String, silence: Int
        ) {
            self.node = node
            self.name = name
            self.address = address
            self.startedDate = startedDate
            self.isOwn = isOwn
            self.state = state
            self.silence = silence
        }
    }

    /// A rate of requests.
    public struct Rate: Codable, Sendable, Equatable {
        /// The number of requests at once.
        public var burst: Double
        /// The number of requests a second over a longer time.
        public var perSecond: Double

        /// Creates a rate.
        public init(burst: Double, perSecond: Double) {
            self.burst = burst
            self.perSecond = perSecond
        }
    }

    /// A root certificate.
    public struct Root: Codable, Sendable, Equatable {
        /// The certificate's use: `receipts` or `jws`.
        public var name: String
        /// The SHA-256 of the certificate, as 64 lower-case hexadecimal digits.
        public var sha256: String
        /// The certificate (DER) in Base64.
        public var certificate: String

        /// Creates a root.
        public init(name: String, sha256: String, certificate: String) {
            self.name = name
            self.sha256 = sha256
            self.certificate = certificate
        }
    }

    /// The shared secret of an app.
    public struct SharedSecret: Codable, Sendable, Equatable {
        /// The app's bundle identifier.
        public var bundleId: String
        /// The shared secret for `verifyReceipt`. Keep it secret.
        public var sharedSecret: String

        /// Creates a secret.
        public init(bundleId: String, sharedSecret: String) {
            self.bundleId = bundleId
            self.sharedSecret = sharedSecret
        }
    }

    /// The sandbox tester that the first start created.
    public struct TesterPassword: Codable, Sendable, Equatable {
        /// The tester's e-mail address.
        public var email: String
        /// The tester's password. Keep it secret.
        public var password: String

        /// Creates the tester's data.
        public init(email: String, password: String) {
            self.email = email
            self.password = password
        }
    }

    /// A change that an operator made on the control port.
    public struct AuditEntry: Codable, Sendable, Equatable {
        /// The entry's place in the list; higher for later ones.
        public var number: Int64
        /// The date by the machine's clock.
        public var date: String
        /// The operator, as the request's `X-Operator` field named them; nil without one.
        public var operatorName: String?
        /// The environment; nil for what both share.
        public var environment: String?
        /// The operation as method and path, with the names of parameters in braces.
        public var operation: String
        /// The subject, such as an e-mail address, a transaction or a product; nil when there is one subject only.
        public var subject: String?
        /// The state before the change, in words; nil when it is not known.
        public var before: String?
        /// The state after the change, in words; nil when it is not known.
        public var after: String?

        /// Creates an entry.
        public init(
            number: Int64, date: String, operatorName: String? = nil, environment: String? = nil, operation: String,
            subject: String? = nil, before: String? = nil, after: String? = nil
        ) {
            self.number = number
            self.date = date
            self.operatorName = operatorName
            self.environment = environment
            self.operation = operation
            self.subject = subject
            self.before = before
            self.after = after
        }
    }

    /// The data of an event of ``ControlRoute/events``.
    public struct Changed: Codable, Sendable, Equatable {
        /// The topics that changed, such as `sandbox.transactions`.
        public var topics: [String]

        /// Creates an event.
        public init(topics: [String]) {
            self.topics = topics
        }
    }
}
