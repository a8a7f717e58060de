import StoreWire

/// The web page of a payment sheet: plain HTML in one piece that loads nothing from elsewhere.
enum SheetPage {
    /// The page's HTML.
    /// - Parameter nonce: the nonce by which the browser recognizes the page's own script and style.
    static func html(_ question: SheetQuestion, id: String, nonce: String) -> String {
        let lines = question.lines.map { "<p>\(escaped($0))</p>" }.joined(separator: "\n")
        return """
            <!DOCTYPE html>
            <html lang="en"><head><meta charset="utf-8"><title>\(escaped(question.title))</title>
            <meta name="viewport" content="width=device-width">
            <style nonce="\(nonce)">
            body { font: 1.1rem system-ui; max-width: 24rem; margin: 4rem auto; padding: 0 1rem; }
            input { display: block; width: 100%; box-sizing: border-box; margin: .5rem 0; padding: .5rem; font: inherit; }
            button { margin: 1rem .5rem 0 0; padding: .5rem 1.5rem; font: inherit; }
            </style></head><body>
            <h1>\(escaped(question.title))</h1>
            \(lines)
            <form id="sheet">\(fields(question))\(buttons(question.kind))</form>
            <script nonce="\(nonce)">
            document.getElementById("sheet").addEventListener("submit", async (event) => {
              event.preventDefault();
              const reply = { choice: event.submitter.value };
              for (const field of event.target.querySelectorAll("input")) {
                if (reply.choice === "accept") reply[field.name] = field.value;
              }
              const answer = await fetch("\(SheetRoute.answer(id).path)", {
                method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(reply),
              });
              document.body.textContent = answer.ok ? "Thank you. You can close this page." : "This question was answered already or has expired.";
            });
            </script></body></html>
            """
    }

    private static func fields(_ question: SheetQuestion) -> String {
        switch question.kind {
        case .confirm, .notice, .priceIncrease: ""
        case .code: #"<input name="code" autocomplete="off" placeholder="Code">"#
        case .signIn:
            #"<input name="email" type="email" autocomplete="username" placeholder="E-mail" "#
                + (question.email.map { #"value="\#(escaped($0))" readonly>"# } ?? ">")
                + #"<input name="password" type="password" autocomplete="current-password" placeholder="Password">"#
        }
    }

    private static func buttons(_ kind: SheetQuestion.Kind) -> String {
        let choices: [(SheetReply.Choice, String)] =
            switch kind {
            case .confirm: [(.accept, "Buy"), (.decline, "Cancel")]
            case .signIn: [(.accept, "Sign in"), (.decline, "Cancel")]
            case .notice: [(.accept, "OK")]
            case .code: [(.accept, "Redeem"), (.decline, "Cancel")]
            case .priceIncrease: [(.accept, "Agree"), (.decline, "Decline"), (.later, "Later")]
            }
        return choices.map { #"<button value="\#($0.rawValue)">\#($1)</button>"# }.joined()
    }

    /// Escapes text for HTML, including attribute values.
    static func escaped(_ text: String) -> String {
        var escaped = ""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "&": escaped += "&amp;"
            case "<": escaped += "&lt;"
            case ">": escaped += "&gt;"
            case "\"": escaped += "&quot;"
            case "'": escaped += "&#39;"
            case "\u{0}"..."\u{1F}", "\u{7F}": escaped += " "
            default: escaped.unicodeScalars.append(scalar)
            }
        }
        return escaped
    }
}
