import CornerstoreEncoding
import Foundation
import StoreWire
import TestSupport
import Testing

@testable import StoreReceipts

@Suite(.timeLimit(.minutes(1))) struct VerifyReceiptRequestTests {
    private func code(_ body: [UInt8]) -> VerifyReceiptRequest.Failure.Code? {
        do throws(VerifyReceiptRequest.Failure) {
            _ = try VerifyReceiptRequest(body: body)
            return nil
        } catch {
            return error.code
        }
    }

    private func code(_ body: String) -> VerifyReceiptRequest.Failure.Code? { code(Array(body.utf8)) }

    @Test(arguments: [
        (#"{"receipt-data":"AAEC"}"#, nil, false),
        (#" { "receipt-data" : "AAEC" , "password" : "secret" , "exclude-old-transactions" : true } "#, "secret", true),
        (#"{"exclude-old-transactions":false,"password":"","receipt-data":"AAEC"}"#, "", false),
        (#"{"receipt-data":"AAEC","password":null,"exclude-old-transactions":null}"#, nil, false),
        (#"{"receipt-data":"AAEC","password":"\u00e9\ud83d\ude00\"\\\/\b\f\n\r\t"}"#, "é😀\"\\/\u{8}\u{C}\n\r\t", false),
        (#"{"receipt-data":"AAEC","password":"é😀"}"#, "é😀", false),
        (
            #"{"unknown":{"a":[1,-0.5e+3,{"b":null},"x\u0000",[]],"c":{}},"receipt-data":"AAEC","unknown":0}"#, nil,
            false
        ),
        (#"{"\u0072eceipt-data":"AAE\u0043"}"#, nil, false),
        ("{\"receipt-data\":\"AA\\nE\\r\\nC\"}", nil, false),
        ("{\r\n\t\"receipt-data\":\"AAEC\"}", nil, false),
    ])
    func requestsAreRead(body: String, password: String?, excludes: Bool) throws {
        let request = try VerifyReceiptRequest(body: Array(body.utf8))
        #expect(
            request
                == VerifyReceiptRequest(receiptData: [0, 1, 2], password: password, excludeOldTransactions: excludes))
    }

    @Test func escapedSlashesOfBase64AreRead() throws {
        let request = try VerifyReceiptRequest(body: Array(#"{"receipt-data":"\/\/\/\/"}"#.utf8))
        #expect(request.receiptData == [0xFF, 0xFF, 0xFF])
    }

    @Test(
        arguments: [
            (#"{"receipt-data":"AAE"}"#, [0, 1]), (#"{"receipt-data":"AA"}"#, [0]),
            (#"{"receipt-data":"AAECAw"}"#, [0, 1, 2, 3]),
            (#"{"receipt-data":"AAEC\r\nAw\r\n"}"#, [0, 1, 2, 3]), (#"{"receipt-data":"\/\/8"}"#, [0xFF, 0xFF]),
        ] as [(String, [UInt8])])
    func paddingMayBeLeftOut(body: String, receipt: [UInt8]) throws {
        #expect(try VerifyReceiptRequest(body: Array(body.utf8)).receiptData == receipt)
    }

    @Test(arguments: [
        "", " ", "null", "[]", "\"\"", "receipt-data=AAEC", "{", "}", "{}{}", "{},", #"{"receipt-data":"AAEC""#,
        #"{"receipt-data":"AAEC",}"#,
        #"{,"receipt-data":"AAEC"}"#, #"{"receipt-data" "AAEC"}"#, #"{"receipt-data":"AAEC"}x"#,
        #"{"receipt-data":"AAEC" "a":1}"#,
        #"{receipt-data:"AAEC"}"#, #"{'receipt-data':'AAEC'}"#, #"{"receipt-data":"AAEC}"#, #"{"receipt-data":AAEC}"#,
        #"{"receipt-data":"AAEC","a":01}"#, #"{"receipt-data":"AAEC","a":1.}"#, #"{"receipt-data":"AAEC","a":.1}"#,
        #"{"receipt-data":"AAEC","a":1e}"#, #"{"receipt-data":"AAEC","a":-}"#, #"{"receipt-data":"AAEC","a":+1}"#,
        #"{"receipt-data":"AAEC","a":NaN}"#, #"{"receipt-data":"AAEC","a":tru}"#, #"{"receipt-data":"AAEC","a":truex}"#,
        #"{"receipt-data":"AAEC","a":[1,]}"#, #"{"receipt-data":"AAEC","a":[1 2]}"#, #"{"receipt-data":"AAEC","a":[}"#,
        #"{"receipt-data":"AAEC","a":"\x"}"#, #"{"receipt-data":"AAEC","a":"\u12"}"#,
        #"{"receipt-data":"AAEC","a":"\u12g4"}"#,
        #"{"receipt-data":"AAEC","a":"\ud83d"}"#, #"{"receipt-data":"AAEC","a":"\ude00"}"#,
        #"{"receipt-data":"AAEC","a":"\ud83d\u0041"}"#,
        #"{"receipt-data":"AAEC","a":"\ud83dx"}"#, "{\"receipt-data\":\"AAEC\",\"a\":\"\n\"}",
        "\u{FEFF}{\"receipt-data\":\"AAEC\"}",
        #"{"receipt-data":"AAEC","receipt-data":"AAEC"}"#,
        #"{"password":"a","receipt-data":"AAEC","passwor\u0064":"b"}"#,
        #"{"receipt-data":"AAEC","exclude-old-transactions":true,"exclude-old-transactions":false}"#,
        // What is no JSON is no JSON first, whatever else is wrong.
        #"{"receipt-data":5,"a":}"#, #"{"receipt-data":"%","a":"#,
    ])
    func whatIsNoJSONIs21000(body: String) {
        #expect(code(body) == .notJSON)
    }

    @Test(arguments: [
        "{}", #"{"receiptdata":"AAEC"}"#, #"{"receipt-data":null}"#, #"{"receipt-data":5}"#,
        #"{"receipt-data":["AAEC"]}"#,
        #"{"receipt-data":{}}"#, #"{"receipt-data":""}"#, #"{"receipt-data":"AA="}"#, #"{"receipt-data":"AAF"}"#,
        #"{"receipt-data":"AA C"}"#,
        #"{"receipt-data":"AAE%3D"}"#,
        #"{"receipt-data":"AA-_"}"#, #"{"receipt-data":"\n"}"#, #"{"receipt-data":"é"}"#,
        #"{"receipt-data":"AA\u0000C"}"#,
        #"{"receipt-data":"AAEC","password":5}"#, #"{"receipt-data":"AAEC","password":true}"#,
        #"{"receipt-data":"AAEC","password":{}}"#,
        #"{"receipt-data":"AAEC","exclude-old-transactions":1}"#,
        #"{"receipt-data":"AAEC","exclude-old-transactions":"true"}"#,
    ])
    func malformedMembersAre21002(body: String) {
        #expect(code(body) == .malformedReceipt)
    }

    @Test(
        arguments: [
            [0x80], [0xC0, 0x80], [0xC1, 0xBF], [0xC2], [0xE0, 0x9F, 0x80], [0xED, 0xA0, 0x80], [0xE2, 0x82],
            [0xF0, 0x8F, 0x80, 0x80],
            [0xF4, 0x90, 0x80, 0x80], [0xF5, 0x80, 0x80, 0x80], [0xFF], [0xE2, 0x28, 0xA1], [0xF0, 0x9F, 0x98, 0x28],
        ] as [[UInt8]])
    func stringsThatAreNotUTF8Are21000(bytes: [UInt8]) {
        #expect(code(Array(#"{"receipt-data":"AAEC","a":""#.utf8) + bytes + Array(#""}"#.utf8)) == .notJSON)
        #expect(code(Array(#"{"receipt-data":""#.utf8) + bytes + Array(#""}"#.utf8)) == .notJSON)
        #expect(code(Array(#"{"receipt-data":"AAEC",""#.utf8) + bytes + Array(#"":1}"#.utf8)) == .notJSON)
    }

    @Test func depthAndSizeAreBounded() {
        func nested(_ depth: Int) -> String {
            #"{"receipt-data":"AAEC","a":"# + String(repeating: "[", count: depth)
                + String(repeating: "]", count: depth) + "}"
        }
        #expect(code(nested(FlatJSONScanner.maximumDepth)) == nil)
        #expect(code(nested(FlatJSONScanner.maximumDepth + 2)) == .notJSON)
        #expect(code(nested(500_000)) == .notJSON)
        #expect(code(#"{"a":"# + String(repeating: #"{"a":"#, count: 100_000)) == .notJSON)
        let longPassword = String(repeating: "p", count: VerifyReceiptRequest.maximumPassword + 1)
        #expect(code(#"{"receipt-data":"AAEC","password":"\#(longPassword)"}"#) == .malformedReceipt)
        #expect(code([UInt8](repeating: 0x20, count: StoreLimits.verifyReceiptRequest + 1)) == .malformedReceipt)
    }

    @Test func aRequestIsReadBackFromItsOwnBody() throws {
        var random = SeededGenerator(seed: 5)
        for count in [1, 2, 3, 100, 5_000, 300_000] {
            let receipt = (0..<count).map { _ in UInt8.random(in: 0...255, using: &random) }
            for password in [nil, "0123456789abcdef", "\"\\\u{1}é😀\n"] {
                for excludes in [false, true] {
                    let request = VerifyReceiptRequest(
                        receiptData: receipt, password: password, excludeOldTransactions: excludes)
                    #expect(try VerifyReceiptRequest(body: request.body) == request)
                    #expect(throws: Never.self) { try JSONSerialization.jsonObject(with: Data(request.body)) }
                }
            }
        }
    }

    /// Foundation's reader is the second opinion: whatever is accepted here, it must accept, with the same members.
    @Test func damagedBodiesAreNeverAcceptedAgainstFoundation() throws {
        let bodies = [
            #"{"receipt-data":"AAECAwQFBgcICQ==","password":"a\u00e9\ud83d\ude00","exclude-old-transactions":true}"#,
            #"{"a":[1,2.5e3,{"b":"c\\"}],"receipt-data":"\/\/8=","é":null,"password":null}"#,
        ]
        var random = SeededGenerator(seed: 6)
        let alphabet = Array("{}[]\":,\\u0123d8etrfalsn=+/ \n-.E".utf8)
        var accepted = 0
        for round in 0..<20_000 {
            let body = Array(bodies[round % 2].utf8).damaged(with: &random, alphabet: alphabet)
            guard let request = try? VerifyReceiptRequest(body: body) else { continue }
            accepted += 1
            let object = try #require(
                try JSONSerialization.jsonObject(with: Data(body)) as? [String: Any],
                "\(String(decoding: body, as: UTF8.self))"
            )
            #expect(request.password == object["password"] as? String)
            #expect(request.excludeOldTransactions == (object["exclude-old-transactions"] as? Bool ?? false))
            let text = try #require(object["receipt-data"] as? String).replacing("\n", with: "").replacing(
                "\r", with: "")
            // Foundation wants the padding that may be left out.
            let missing = text.hasSuffix("=") ? 0 : (4 - text.utf8.count % 4) % 4
            #expect(Data(request.receiptData) == Data(base64Encoded: text + String(repeating: "=", count: missing)))
        }
        #expect(accepted > 500)
    }
}
