import ConsolePages

/// Programs in other languages with a store's addresses.
enum Snippets {
    /// Programs that verify a receipt.
    static func verify(_ url: String) -> [ConsoleCode] {
        [
            ConsoleCode(
                "curl",
                """
                printf '{"receipt-data":"%s"}' "$(base64 -w0 receipt)" | curl -sS -H 'Content-Type: application/json' -d @- '\(url)'
                """),
            ConsoleCode(
                "Python",
                """
                import base64, json, urllib.request

                body = json.dumps({"receipt-data": base64.b64encode(open("receipt", "rb").read()).decode()}).encode()
                request = urllib.request.Request("\(url)", body, {"Content-Type": "application/json"})
                print(json.load(urllib.request.urlopen(request))["status"])
                """),
            ConsoleCode(
                "Node",
                """
                const data = require("node:fs").readFileSync("receipt").toString("base64");
                fetch("\(url)", { method: "POST", headers: { "Content-Type": "application/json" },
                  body: JSON.stringify({ "receipt-data": data }) })
                  .then((answer) => answer.json()).then((answer) => console.log(answer.status));
                """),
            ConsoleCode(
                "Swift",
                """
                import Foundation
                #if canImport(FoundationNetworking)
                import FoundationNetworking
                #endif

                let data = try Data(contentsOf: URL(fileURLWithPath: "receipt")).base64EncodedString()
                var request = URLRequest(url: URL(string: "\(url)")!)
                request.httpMethod = "POST"
                request.httpBody = try JSONSerialization.data(withJSONObject: ["receipt-data": data])
                let (answer, _) = try await URLSession.shared.data(for: request)
                print(String(decoding: answer, as: UTF8.self))
                """),
            ConsoleCode(
                "Go",
                """
                package main

                import ("bytes"; "encoding/base64"; "encoding/json"; "fmt"; "net/http"; "os")

                func main() {
                    data, _ := os.ReadFile("receipt")
                    body, _ := json.Marshal(map[string]string{"receipt-data": base64.StdEncoding.EncodeToString(data)})
                    answer, err := http.Post("\(url)", "application/json", bytes.NewReader(body))
                    if err != nil { panic(err) }
                    var result struct{ Status int }
                    json.NewDecoder(answer.Body).Decode(&result)
                    fmt.Println(result.Status)
                }
                """),
            ConsoleCode(
                "PHP",
                """
                <?php
                $body = json_encode(["receipt-data" => base64_encode(file_get_contents("receipt"))]);
                $context = stream_context_create(["http" => ["method" => "POST", "header" => "Content-Type: application/json", "content" => $body]]);
                echo json_decode(file_get_contents("\(url)", false, $context))->status, "\\n";
                """),
            ConsoleCode(
                "Ruby",
                """
                require "base64"; require "json"; require "net/http"

                body = { "receipt-data" => Base64.strict_encode64(File.binread("receipt")) }.to_json
                puts JSON.parse(Net::HTTP.post(URI("\(url)"), body, "Content-Type" => "application/json").body)["status"]
                """),
            ConsoleCode(
                "Java",
                """
                import java.net.URI; import java.net.http.*; import java.nio.file.*; import java.util.Base64;

                class Verify {
                    public static void main(String[] arguments) throws Exception {
                        var data = Base64.getEncoder().encodeToString(Files.readAllBytes(Path.of("receipt")));
                        var request = HttpRequest.newBuilder(URI.create("\(url)")).header("Content-Type", "application/json")
                            .POST(HttpRequest.BodyPublishers.ofString("{\\"receipt-data\\":\\"" + data + "\\"}")).build();
                        System.out.println(HttpClient.newHttpClient().send(request, HttpResponse.BodyHandlers.ofString()).body());
                    }
                }
                """),
        ]
    }

    /// Programs that ask the merchant.
    static func merchant(_ base: String) -> [ConsoleCode] {
        [
            ConsoleCode("Make an API key", "cornerstore merchant key make backend --scope users --scope ledger"),
            ConsoleCode("A user's balances", "curl -sS -H \"Authorization: Bearer $KEY\" '\(base)/admin/v1/users/ann'"),
            ConsoleCode(
                "Python",
                """
                import json, os, urllib.request

                request = urllib.request.Request("\(base)/admin/v1/users/ann", headers={"Authorization": "Bearer " + os.environ["KEY"]})
                print(json.load(urllib.request.urlopen(request)))
                """),
        ]
    }
}
