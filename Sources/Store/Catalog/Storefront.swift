import StoreWire

/// A storefront of the App Store. It determines the products and the currency for an account.
public struct Storefront: Sendable, Hashable {
    /// The country code, ISO 3166-1 alpha-3 (`USA`), as in `SKStorefront.countryCode`. Kosovo has Apple's code `XKS`.
    public let countryCode: String
    /// The region code for locale identifiers, ISO 3166-1 alpha-2 (`US`).
    public let regionCode: String
    /// Apple's number of the storefront (`143441`), as in `SKStorefront.identifier`.
    public let identifier: String
    /// The currency in which the App Store charges, ISO 4217. Often it is not the country's own.
    public let currency: String
    /// The language that most customers read, as a locale identifier without region (`en`, `zh_Hans`).
    public let language: String

    /// The storefront with this alpha-3 code in upper case; nil when the App Store has none.
    public static func named(_ countryCode: String) -> Storefront? { byCountryCode[countryCode] }

    /// The storefront with this alpha-2 code in upper case (`US`); nil when the App Store has none.
    public static func withRegion(_ regionCode: String) -> Storefront? { byRegionCode[regionCode] }

    private static let byRegionCode = Dictionary(
        all.map { ($0.regionCode, $0) }, uniquingKeysWith: { first, _ in first })

    /// All storefronts in the order of their country codes.
    public static let all: [Storefront] = byCountryCode.values.sorted { $0.countryCode < $1.countryCode }

    /// The United States, Xcode's default for files that name no storefront.
    public static let unitedStates = Storefront(
        countryCode: "USA", regionCode: "US", identifier: "143441", currency: "USD", language: "en"
    )

    /// The currencies that storefronts charge in.
    static let currencies = Set(byCountryCode.values.map(\.currency))

    /// The description that devices receive.
    public var description: StorefrontDescription {
        StorefrontDescription(countryCode: countryCode, identifier: identifier)
    }

    private static let byCountryCode: [String: Storefront] = {
        var table: [String: Storefront] = [:]
        for row in rows.split(separator: "\n") {
            let cells = row.split(separator: " ").map(String.init)
            guard cells.count == 5 else { continue }
            table[cells[0]] = Storefront(
                countryCode: cells[0], regionCode: cells[1], identifier: "143" + cells[2], currency: cells[3],
                language: cells[4]
            )
        }
        return table
    }()

    /// Alpha-3, alpha-2, the last three digits of Apple's number, currency, language. App Store territories and
    /// currencies as of January 2026 (euro in Bulgaria, and in Bosnia, Kosovo, Montenegro and Serbia, where Apple
    /// charges in it).
    private static let rows = """
        AFG AF 610 USD fa
        AGO AO 564 USD pt
        AIA AI 538 USD en
        ALB AL 575 USD sq
        ARE AE 481 AED en
        ARG AR 505 USD es
        ARM AM 524 USD hy
        ATG AG 540 USD en
        AUS AU 460 AUD en
        AUT AT 445 EUR de
        AZE AZ 568 USD az
        BEL BE 446 EUR nl
        BEN BJ 576 USD fr
        BFA BF 578 USD fr
        BGR BG 526 EUR bg
        BHR BH 559 USD ar
        BHS BS 539 USD en
        BIH BA 612 EUR bs
        BLR BY 565 USD ru
        BLZ BZ 555 USD en
        BMU BM 542 USD en
        BOL BO 556 USD es
        BRA BR 503 BRL pt
        BRB BB 541 USD en
        BRN BN 560 USD ms
        BTN BT 577 USD dz
        BWA BW 525 USD en
        CAN CA 455 CAD en
        CHE CH 459 CHF de
        CHL CL 483 CLP es
        CHN CN 465 CNY zh_Hans
        CIV CI 527 USD fr
        CMR CM 574 USD fr
        COD CD 613 USD fr
        COG CG 582 USD fr
        COL CO 501 COP es
        CPV CV 580 USD pt
        CRI CR 495 USD es
        CYM KY 544 USD en
        CYP CY 557 EUR el
        CZE CZ 489 CZK cs
        DEU DE 443 EUR de
        DMA DM 545 USD en
        DNK DK 458 DKK da
        DOM DO 508 USD es
        DZA DZ 563 USD ar
        ECU EC 509 USD es
        EGY EG 516 EGP ar
        ESP ES 454 EUR es
        EST EE 518 EUR et
        FIN FI 447 EUR fi
        FJI FJ 583 USD en
        FRA FR 442 EUR fr
        FSM FM 591 USD en
        GAB GA 614 USD fr
        GBR GB 444 GBP en
        GEO GE 615 USD ka
        GHA GH 573 USD en
        GMB GM 584 USD en
        GNB GW 585 USD pt
        GRC GR 448 EUR el
        GRD GD 546 USD en
        GTM GT 504 USD es
        GUY GY 553 USD en
        HKG HK 463 HKD zh_Hant
        HND HN 510 USD es
        HRV HR 494 EUR hr
        HUN HU 482 HUF hu
        IDN ID 476 IDR id
        IND IN 467 INR en
        IRL IE 449 EUR en
        IRQ IQ 617 USD ar
        ISL IS 558 USD is
        ISR IL 491 ILS he
        ITA IT 450 EUR it
        JAM JM 511 USD en
        JOR JO 528 USD ar
        JPN JP 462 JPY ja
        KAZ KZ 517 KZT ru
        KEN KE 529 USD en
        KGZ KG 586 USD ru
        KHM KH 579 USD km
        KNA KN 549 USD en
        KOR KR 466 KRW ko
        KWT KW 493 USD ar
        LAO LA 587 USD lo
        LBN LB 497 USD ar
        LBR LR 588 USD en
        LBY LY 567 USD ar
        LCA LC 550 USD en
        LKA LK 486 USD si
        LTU LT 520 EUR lt
        LUX LU 451 EUR fr
        LVA LV 519 EUR lv
        MAC MO 515 USD zh_Hant
        MAR MA 620 USD ar
        MDA MD 523 USD ro
        MDG MG 531 USD fr
        MDV MV 488 USD en
        MEX MX 468 MXN es
        MKD MK 530 USD mk
        MLI ML 532 USD fr
        MLT MT 521 EUR en
        MMR MM 570 USD my
        MNE ME 619 EUR sr
        MNG MN 592 USD mn
        MOZ MZ 593 USD pt
        MRT MR 590 USD ar
        MSR MS 547 USD en
        MUS MU 533 USD en
        MWI MW 589 USD en
        MYS MY 473 MYR ms
        NAM NA 594 USD en
        NER NE 534 USD fr
        NGA NG 561 NGN en
        NIC NI 512 USD es
        NLD NL 452 EUR nl
        NOR NO 457 NOK nb
        NPL NP 484 USD ne
        NRU NR 606 USD en
        NZL NZ 461 NZD en
        OMN OM 562 USD ar
        PAK PK 477 PKR en
        PAN PA 485 USD es
        PER PE 507 PEN es
        PHL PH 474 PHP en
        PLW PW 595 USD en
        PNG PG 597 USD en
        POL PL 478 PLN pl
        PRT PT 453 EUR pt
        PRY PY 513 USD es
        QAT QA 498 QAR ar
        ROU RO 487 RON ro
        RUS RU 469 RUB ru
        RWA RW 621 USD en
        SAU SA 479 SAR ar
        SEN SN 535 USD fr
        SGP SG 464 SGD en
        SLB SB 601 USD en
        SLE SL 600 USD en
        SLV SV 506 USD es
        SRB RS 500 EUR sr
        STP ST 598 USD pt
        SUR SR 554 USD nl
        SVK SK 496 EUR sk
        SVN SI 499 EUR sl
        SWE SE 456 SEK sv
        SWZ SZ 602 USD en
        SYC SC 599 USD en
        TCA TC 552 USD en
        TCD TD 581 USD fr
        THA TH 475 THB th
        TJK TJ 603 USD ru
        TKM TM 604 USD ru
        TON TO 608 USD en
        TTO TT 551 USD en
        TUN TN 536 USD ar
        TUR TR 480 TRY tr
        TWN TW 470 TWD zh_Hant
        TZA TZ 572 TZS en
        UGA UG 537 USD en
        UKR UA 492 USD uk
        URY UY 514 USD es
        USA US 441 USD en
        UZB UZ 566 USD uz
        VCT VC 548 USD en
        VEN VE 502 USD es
        VGB VG 543 USD en
        VNM VN 471 VND vi
        VUT VU 609 USD en
        XKS XK 624 EUR sq
        YEM YE 571 USD ar
        ZAF ZA 472 ZAR en
        ZMB ZM 622 USD en
        ZWE ZW 605 USD en
        """
}
