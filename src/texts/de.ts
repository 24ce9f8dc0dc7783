// The German texts of the pages, the PDF and the palette.
import type { DashboardTexts, HomeTexts, PaletteTexts, QuoteTexts } from './en.ts'

export const locale = 'de-DE'
export const name = 'Deutsch'

/** The quote page, its error pages and the PDF. */
export const quotes: QuoteTexts = {
  quote: 'Angebot',
  language: 'Sprache',
  version: 'Version',
  replaces: 'Ersetzt frühere Versionen',
  issuedOn: 'Datum',
  validUntil: 'Gültig bis',
  firstOfMonth: null,
  total: 'Gesamtbetrag',
  viewPdf: 'Als PDF ansehen',
  status: {
    accepted: {
      label: 'Angenommen',
      explanation:
        'Dieses Angebot wurde angenommen. Danke für Ihr Vertrauen. Bei Fragen melden Sie sich ' +
        'bei uns.',
    },
    rejected: {
      label: 'Abgelehnt',
      explanation:
        'Dieses Angebot ist als abgelehnt vermerkt. Wenn Sie es sich anders überlegt ' +
        'haben, melden Sie sich bei uns.',
    },
    expired: {
      label: 'Abgelaufen',
      explanation: 'Wenn Sie noch interessiert sind, bitten Sie uns um ein aktuelles.',
    },
    withdrawn: {
      label: 'Zurückgezogen',
      explanation:
        'Wir haben dieses Angebot zurückgezogen. Wenn Sie interessiert sind, bitten Sie uns um ' +
        'ein neues.',
    },
    superseded: {
      label: 'Ersetzt',
      explanation:
        'Dieses Angebot gilt nicht mehr: ein anderes ersetzt es. Fragen Sie uns, wenn Sie ' +
        'es nicht haben.',
    },
  },
  validity: (date) => `Es war bis ${date} gültig.`,
  taxId: 'USt-IdNr.',
  vatNumber: 'USt-IdNr.',
  taxNumber: 'Steuernummer',
  buyer: 'Kunde',
  attention: 'Zu Händen von',
  lines: 'Positionen',
  position: 'Pos.',
  description: 'Beschreibung',
  quantity: 'Menge',
  unitPrice: 'Einzelpreis',
  discount: 'Rabatt',
  tax: 'USt.',
  salesTax: 'Steuer',
  surcharge: 'Zuschlag',
  net: 'Betrag',
  sku: 'Art.-Nr.',
  hsCode: 'Zolltarifnummer',
  origin: 'Ursprung',
  carriedForward: 'Übertrag',
  broughtForward: 'Übertrag',
  totals: 'Summen',
  jumpToTotal: 'Zur Summe',
  discounts: 'Rabatte, bereits abgezogen',
  optional: 'Optional, nicht in der Summe enthalten',
  subtotal: 'Zwischensumme',
  globalDiscount: 'Rabatt',
  netTotal: 'Nettosumme',
  taxAt: (label, rate) => `${label} ${rate}`,
  surchargeAt: (rate) => `Ausgleichszuschlag ${rate}`,
  onBase: (base) => `auf ${base}`,
  untaxed: 'Ohne Steuer',
  withheld: 'Einbehaltene Steuer',
  amountDue: 'Zahlbetrag',
  noTax: 'Keine Steuer angegeben',
  taxReasons: {
    intra_community_goods: 'Steuerfreie innergemeinschaftliche Lieferung',
    intra_community_service:
      'Steuerschuldnerschaft des Leistungsempfängers: innergemeinschaftliche Dienstleistung',
    export: 'Steuerfreie Ausfuhrlieferung',
    canary_islands: 'Steuerfreie Lieferung auf die Kanarischen Inseln, nach Ceuta oder Melilla',
    reverse_charge: 'Steuerschuldnerschaft des Leistungsempfängers',
    exempt: 'Steuerfrei',
    not_subject: 'Nicht steuerbar: der Leistungsort liegt im Land des Leistungsempfängers',
    small_business: 'Steuerfrei nach der Regelung für Kleinunternehmen',
  },
  law: {
    article: 'Art.',
    spanish: 'spanisches Gesetz 37/1992',
    european: 'Richtlinie 2006/112/EG',
  },
  terms: 'Bedingungen',
  incoterms: (edition) => `Incoterms® ${edition}`,
  delivery: 'Lieferung',
  payment: 'Zahlung',
  bank: 'Bankverbindung',
  holder: 'Kontoinhaber',
  bankAdvice:
    'Wenn eine Nachricht sagt, dass sich unser Konto geändert hat, rufen Sie uns an, ' +
    'bevor Sie zahlen:',
  ibanIsWrong:
    'Die Prüfziffern dieser IBAN sind falsch. Zahlen Sie nicht, ohne telefonisch ' +
    'nachzufragen.',
  reference: 'Verwendungszweck',
  selectToCopy: 'Ein Klick markiert die ganze Angabe, um sie zu kopieren.',
  sepaQr: 'Mit der App Ihrer Bank scannen, um die Überweisung auszufüllen',
  notes: 'Anmerkungen',
  legal: 'Rechtliche Hinweise',
  ofLines: (positions, count) => `${count === 1 ? 'Position' : 'Positionen'} ${positions}`,
  contentHash: 'SHA-256-Fingerabdruck des Inhalts',
  compareHash:
    'Die Seite des Links und das PDF zeigen denselben Fingerabdruck. Wenn sie sich ' +
    'unterscheiden, wurde das PDF verändert: Zahlen Sie nicht, ohne das Konto ' +
    'telefonisch mit uns zu klären.',
  linkExpires: (instant) => `Dieser Link funktioniert bis ${instant}.`,
  json: 'Daten als JSON',
  pageNumber: {
    before: 'Seite',
    between: 'von',
  },
  reply: {
    title: 'Per E-Mail antworten',
    accept: 'Annehmen',
    ask: 'Eine Frage stellen',
    renew: 'Um ein aktuelles bitten',
    acceptSubject: (number) => `Annahme des Angebots ${number}`,
    acceptBody: (number, version, total) =>
      `Ich nehme das Angebot ${number}, Version ${version}, über ${total} an.`,
    askSubject: (number) => `Frage zum Angebot ${number}`,
    renewSubject: (number) => `Bitte um ein aktuelles Angebot statt ${number}`,
  },
  errors: {
    not_found: {
      title: 'Hier gibt es kein Angebot',
      explanation:
        'Prüfen Sie, ob der Link vollständig ist, so wie Sie ihn erhalten haben. Wenn er ' +
        'sich weiterhin nicht öffnet, bitten Sie den Absender um einen anderen.',
    },
    link_expired: {
      title: 'Dieser Link ist abgelaufen',
      explanation: 'Er öffnet das Angebot nicht mehr. Bitten Sie uns um einen neuen Link.',
    },
    link_revoked: {
      title: 'Dieser Link wurde zurückgezogen',
      explanation: 'Er öffnet das Angebot nicht mehr. Bitten Sie uns um einen neuen Link.',
    },
    rate_limited: {
      title: 'Zu viele Anfragen',
      explanation: 'Warten Sie eine Minute und laden Sie die Seite dann neu.',
    },
    unavailable: {
      title: 'Im Moment nicht verfügbar',
      explanation:
        'Das Angebot kann gerade nicht gelesen werden. Versuchen Sie es gleich noch ' + 'einmal.',
    },
    not_acceptable: {
      title: 'Format nicht verfügbar',
      explanation:
        'Das Angebot gibt es nicht in diesem Format. Öffnen Sie es mit dem Link, so wie ' +
        'Sie ihn erhalten haben.',
    },
    wrong_request: {
      title: 'Diese Anfrage kann nicht beantwortet werden',
      explanation: 'Öffnen Sie das Angebot mit dem Link, so wie Sie ihn erhalten haben.',
    },
    pdf_unsupported: {
      title: 'Dieses Angebot gibt es nicht als PDF',
      explanation:
        'Es enthält Zeichen, die das PDF nicht richtig zeigen kann. Öffnen Sie die Seite ' +
        'und drucken Sie sie, oder speichern Sie sie mit der Druckfunktion Ihres Browsers ' +
        'als PDF.',
    },
    pdf_unavailable: {
      title: 'Das Dokument konnte nicht erstellt werden',
      explanation:
        'Es ist zu groß, oder es gibt zu viele Anfragen. Versuchen Sie es später noch ' +
        'einmal. Die Seite lässt sich drucken oder mit der Druckfunktion Ihres Browsers ' +
        'als PDF speichern.',
    },
    pending: {
      title: 'Das Dokument wird erstellt',
      explanation: 'Es ist groß, oder viele werden angefordert. In wenigen Sekunden ist es fertig.',
    },
    internal_error: {
      title: 'Etwas ist schiefgegangen',
      explanation:
        'Der Fehler liegt bei uns und wurde aufgezeichnet. Versuchen Sie es gleich noch ' +
        'einmal.',
    },
  },
  contact: 'Kontakt',
  tryAgain: 'Noch einmal versuchen',
  openPage: 'Die Seite des Angebots öffnen',
  units: {
    piece: ['Stk.', 'Stk.'],
    pair: ['Paar', 'Paar'],
    dozen: ['Dutzend', 'Dutzend'],
    hundred: ['Hundert', 'Hundert'],
    thousand: ['Tausend', 'Tausend'],
    set: ['Satz', 'Sätze'],
    pack: ['Packung', 'Packungen'],
    box: ['Schachtel', 'Schachteln'],
    carton: ['Karton', 'Kartons'],
    bag: ['Beutel', 'Beutel'],
    sack: ['Sack', 'Säcke'],
    bottle: ['Flasche', 'Flaschen'],
    pallet: ['Palette', 'Paletten'],
    roll: ['Rolle', 'Rollen'],
    day: ['Tag', 'Tage'],
    workingDay: ['Arbeitstag', 'Arbeitstage'],
    week: ['Woche', 'Wochen'],
    month: ['Monat', 'Monate'],
    year: ['Jahr', 'Jahre'],
    service: ['Leistung', 'Leistungen'],
    lumpSum: ['Pauschale', 'Pauschalen'],
  },
}

/** The page /dashboard. Its script fills in the {placeholders}. */
export const dashboard: DashboardTexts = {
  title: 'Statistik',
  heading: 'Angebote und Umsatz',
  filters: 'Filter',
  period: 'Zeitraum',
  presets: {
    month: 'Dieser Monat',
    year: 'Dieses Jahr',
    '12m': '12 Monate',
    all: 'Alles',
  },
  previousPeriod: 'Vorheriger Zeitraum',
  nextPeriod: 'Nächster Zeitraum',
  from: 'Von',
  to: 'Bis',
  country: 'Land',
  allCountries: 'Alle Länder',
  allCurrencies: 'Alle Währungen',
  unknownCountry: 'Ohne Land',
  dateKind: 'Verwendetes Datum',
  dateKinds: {
    issued: 'Nach Ausstellung',
    accepted: 'Nach Annahme',
  },
  compare: 'Vergleich',
  comparisons: {
    none: 'Ohne Vergleich',
    previous_period: 'Mit dem vorherigen Zeitraum',
    previous_year: 'Mit dem Vorjahr',
  },
  csv: 'CSV',
  csvTitle: 'Diese Statistik als CSV herunterladen',
  print: 'Drucken',
  forgetKey: 'Schlüssel vergessen',
  needsScript: 'Diese Seite braucht JavaScript. Dieselbe Statistik steht unter',
  updated: 'Aktuell · Stand {time}',
  notUpdated: 'Nicht aktuell · {time} ({age})',
  comparedWith: 'Verglichen mit {period}',
  previousValue: 'vorher {value}',
  points: '{points} PP',
  revenue: 'Umsatz',
  netOfAccepted: 'Nettobetrag der angenommenen Angebote',
  withoutRate: {
    one: 'Ohne {count} Angebot, das keinen Wechselkurs hat',
    other: 'Ohne {count} Angebote, die keinen Wechselkurs haben',
  },
  quotes: 'Angebote',
  accepted: 'Angenommen',
  open: 'Offen',
  sentAndValid: 'Gesendet und noch gültig: {count}',
  lost: 'Verloren',
  rejectedAndExpired: 'Abgelehnt und abgelaufen: {count}',
  acceptance: 'Annahme',
  ofDecided: 'der entschiedenen',
  ofSent: 'der gesendeten',
  byNumber: 'Nach Anzahl',
  byValue: 'Nach Wert',
  outOf: '{part} von {whole}',
  daysToDecision: 'Tage bis zur Entscheidung',
  median: 'Median',
  mean: 'Mittelwert',
  medianAndMean: 'Median; der Mittelwert ist {mean}',
  decidedOnKnownDay: 'Mit Tag der Entscheidung: {count}',
  average: 'Durchschnittsbetrag',
  perAccepted: 'Je angenommenes Angebot',
  loading: 'Wird geladen…',
  trail: 'Pfad',
  timeline: 'Im Verlauf',
  days: 'Tage',
  months: 'Monate',
  years: 'Jahre',
  table: 'Tabelle',
  byDay: 'Angebote und Umsatz nach Tag',
  byMonth: 'Angebote und Umsatz nach Monat',
  byYear: 'Angebote und Umsatz nach Jahr',
  day: 'Tag',
  month: 'Monat',
  year: 'Jahr',
  partial: 'teilweise',
  partialLegend: 'Unvollständig',
  otherQuotes: 'Andere',
  revenueChartLabel:
    'Säulendiagramm des Umsatzes in {currency}, von {from} bis {to}. Die Tabelle ' +
    'darunter enthält dieselben Daten.',
  quotesChartLabel:
    'Säulendiagramm der angenommenen und anderen Angebote, von {from} bis {to}. Die ' +
    'Tabelle darunter enthält dieselben Daten.',
  quotesInPeriod: 'Angebote: {quotes}, davon angenommen: {accepted}',
  byCountry: 'Nach Land',
  showAll: 'Alle {count} zeigen',
  columns: 'Spalten',
  columnGroups: {
    revenue: 'Umsatz',
    outcomes: 'Offen und verloren',
    acceptance: 'Annahme',
    days: 'Tage',
  },
  amountsIn: 'Beträge in {currency}',
  acceptanceOfDecided: 'Annahme der entschiedenen',
  byStatus: 'Nach Status',
  statusHeading: 'Status',
  share: '%',
  status: {
    draft: 'Entwurf',
    sent: 'Gesendet',
    accepted: 'Angenommen',
    rejected: 'Abgelehnt',
    expired: 'Abgelaufen',
    withdrawn: 'Zurückgezogen',
  },
  acceptedOnlyNote: 'Nach Annahme zählen nur angenommene Angebote',
  byCurrency: 'Nach Währung',
  currency: 'Währung',
  amount: 'Nicht umgerechneter Betrag',
  ofWhichUnconverted: 'ohne Wechselkurs',
  currenciesNote: 'Beträge ohne Wechselkurs gehören nicht zum Umsatz in {currency}.',
  breakdown: {
    heading: 'Kunden und Produkte',
    customers: 'Kunden',
    customer: 'Kunde',
    noCustomer: 'Ohne Kunde',
    otherCustomers: {
      one: '{count} weiterer Kunde',
      other: '{count} weitere Kunden',
    },
    products: 'Produkte in angenommenen Angeboten',
    product: 'Produkt',
    noSku: 'Ohne Artikelnummer',
    otherProducts: {
      one: '{count} weiteres Produkt',
      other: '{count} weitere Produkte',
    },
    lines: 'Zeilen',
    linesWithoutRate: {
      one: 'Ohne {count} Zeile, die keinen Wechselkurs hat',
      other: 'Ohne {count} Zeilen, die keinen Wechselkurs haben',
    },
  },
  searches: {
    heading: 'Wonach gesucht wird',
    summary: {
      one: 'Letzte {days} Tage: {searches} Suche, davon {withoutResult} ohne Ergebnis.',
      other: 'Letzte {days} Tage: {searches} Suchen, davon {withoutResult} ohne Ergebnis.',
    },
    frequent: 'Am häufigsten',
    unsuccessful: 'Ohne Ergebnis',
    words: 'Wörter, die kein Produkt enthält',
    text: 'Text',
    count: 'Suchen',
    none: 'Keine, nach der fünf Personen gesucht haben.',
    note: 'Ein Text erscheint, wenn fünf verschiedene Personen danach gesucht haben.',
  },
  definitionsTitle: 'Definitionen',
  definedTerms: {
    revenue: 'Umsatz:',
    open: 'Offen:',
    lost: 'Verloren:',
    acceptance: 'Annahme:',
    days: 'Tage bis zur Entscheidung:',
  },
  definitions: {
    revenue:
      'Nettobetrag der angenommenen Angebote, jedes zu seinem eigenen Wechselkurs ' +
      'umgerechnet.',
    open:
      'Nettobetrag der gesendeten Angebote, die heute noch gültig sind, ohne Angebote ' +
      'ohne Wechselkurs.',
    lost:
      'Nettobetrag der abgelehnten und abgelaufenen Angebote, auch der gesendeten, deren ' +
      'Gültigkeit vorbei ist, ohne Angebote ohne Wechselkurs.',
    acceptance:
      'der angenommene Teil, nach Anzahl und nach Nettobetrag, der entschiedenen Angebote ' +
      '(angenommen, abgelehnt und abgelaufen) und der gesendeten (entschieden und offen).',
    days:
      'Tage von der Ausstellung bis zur Entscheidung der angenommenen und abgelehnten ' +
      'Angebote mit Tag der Entscheidung; die Hälfte wurde innerhalb des Medians ' +
      'entschieden.',
  },
  noRows: 'Keine Daten in diesem Zeitraum.',
  noQuotes: 'In diesem Zeitraum gibt es keine Angebote.',
  showEverything: 'Alles zeigen',
  announcement: '{period}. Angebote: {quotes}. Umsatz: {revenue}',
  retry: 'Jetzt wiederholen',
  retryIn: 'Neuer Versuch in {seconds} s.',
  errors: {
    keyInvalid: 'Dieser Schlüssel ist ungültig: unbekannt, abgelaufen oder widerrufen.',
    scopeMissing: 'Diesem Schlüssel fehlt die Berechtigung stats:read.',
    invalidFilter: 'Ein Filter ist ungültig: {parameters}.',
    limited: 'Zu viele Anfragen mit diesem Schlüssel oder von Ihrer Adresse.',
    unavailable: 'Der Dienst ist im Moment nicht verfügbar.',
    offline: 'Keine Netzwerkverbindung.',
    failed: 'Die Anfrage ist fehlgeschlagen.',
  },
  keyHeading: 'Diese Statistik braucht einen Schlüssel',
  keyExplanation:
    'Ein geheimer Schlüssel (tqs_…) mit der Berechtigung stats:read, vom Betreiber ' +
    'des Dienstes. Er bleibt nur in diesem Tab, bis Sie ihn schließen.',
  key: 'Schlüssel',
  useKey: 'Statistik zeigen',
  cancel: 'Abbrechen',
  needsDetailScope: 'Dafür ist ein Schlüssel mit der Berechtigung stats:detail nötig.',
  enterKey: 'Schlüssel eingeben',
}

/** The page /. Its script fills in the {placeholders}. */
export const home: HomeTexts = {
  heading: 'Suchen, messen, anbieten',
  intro:
    'Drei Funktionen für einen Katalog und seine Angebote, hier in Betrieb mit den Daten ' +
    'dieses Dienstes, und der Code dafür in eigenen Seiten und Programmen.',
  needsScript:
    'Die lebendigen Teile dieser Seite brauchen JavaScript; die Codebeispiele kommen ohne ' +
    'aus.',
  copy: 'Kopieren',
  copied: 'Kopiert',
  responseSample: 'Die Antwort',
  docs: 'API-Dokumentation',
  search: {
    title: 'Produkte suchen',
    text:
      'Bei jedem Tastendruck, mit Tippfehlern, Synonymen und exakten Codes. Strg+K (⌘K) ' +
      'öffnet sie von überall.',
    label: 'Produkt, Wort oder Code',
    placeholder: 'Zum Beispiel „jumbo strage bag“, „taladro“ oder „85123a“',
    chosen: 'Gewählt: {name} · {sku} · {price}',
    noPrice: 'ohne Preis',
    tag: 'In Ihrer Seite: ein Tag, auf jedem Ursprung seines Schlüssels',
    pinnedTag: 'Oder genau diese Version, die nach jeder Aktualisierung zu ersetzen ist',
    keyOfService:
      'Der gezeigte Schlüssel gilt für Seiten von {origin}. Für eigene Seiten erzeugen Sie einen ' +
      'mit deren Ursprung:',
    noKey: 'Erzeugen Sie einen Schlüssel für den Ursprung Ihrer Seite:',
    createKey: 'Ein Schlüssel für Ihren Ursprung',
    curl: 'Aus einem Programm',
  },
  stats: {
    title: 'Statistik',
    text: 'Angebote, Annahme und Umsatz, auf den Cent genau und nach zwei Sekunden aktuell.',
    open: 'Statistik öffnen',
    needsKey:
      'Die Statistik braucht einen Schlüssel mit der Berechtigung stats:read. Die Übersicht ' +
      'fragt danach.',
    unavailable: 'Die Statistik ist gerade nicht verfügbar.',
    curl: 'Aus einem Programm',
  },
  quote: {
    title: 'Ein Angebot per Link',
    text:
      'Der Kunde öffnet es ohne Konto: als Seite, PDF oder JSON. Was gesendet wurde, ändert ' +
      'sich nicht, auch wenn sich die Datenbank ändert.',
    open: 'Angebot öffnen',
    unavailable: 'Das Angebot ist gerade nicht verfügbar.',
    none: 'Hier wird keines gezeigt. So entsteht ein Link:',
    curl: 'Dasselbe als JSON oder PDF',
  },
}

/** The palette. */
export const palette: PaletteTexts = {
  title: 'Produkte suchen',
  list: 'Produkte',
  close: 'Schließen: Esc',
  favourites: 'Favoriten',
  recent: 'Zuletzt gewählt',
  popular: 'Am häufigsten angeboten',
  count: (shown, total) => {
    if (total === 1) return '1 Treffer'
    const of = shown < total ? `${shown} von ` : ''
    const word = shown < total ? 'Treffern' : 'Treffer'
    return `${of}${total >= 1000 ? '1000 oder mehr' : total} ${word}`
  },
  nothing: (query) => `Nichts gefunden für „${query}“`,
  advice: 'Versuchen Sie weniger Buchstaben, ein anderes Wort oder die Artikelnummer.',
  chosen: (name) => `Gewählt: ${name}`,
  notChosen: (query) => `Nichts gewählt: Die Liste gehört noch nicht zu „${query}“.`,
  marked: (name) => `Favorit: ${name}`,
  unmarked: (name) => `Kein Favorit mehr: ${name}`,
  deleted: (name) => `„${name}“ ist nicht mehr im Katalog`,
  degraded: 'Ersatzsuche: Treffer können fehlen',
  didYouMean: 'Meinten Sie das?',
  inexact: (name) => `Nicht genau: Nochmals Enter wählt „${name}“`,
  copied: (sku) => `Kopiert: ${sku}`,
  more: (count) => `Noch ${count} zeigen`,
  failures: {
    offline: 'Offline. Es geht weiter, sobald die Verbindung steht.',
    unreachable: 'Die Suche ist nicht erreichbar. Neuer Versuch…',
    unavailable: 'Die Suche ist gerade nicht verfügbar. Neuer Versuch…',
    refused: 'Die Suche ist ungültig.',
    unauthenticated: 'Kein Zugriff: Der Schlüssel fehlt oder ist ungültig.',
    forbidden: 'Kein Zugriff: Dieser Schlüssel darf hier nicht suchen.',
  },
  limited: (seconds) => `Zu viele Suchen. Weiter in ${seconds} s.`,
  hints: {
    move: 'bewegen',
    choose: 'wählen',
    chooseMore: 'wählen und weiter',
    favourite: 'Favorit',
    copy: 'Artikelnummer kopieren',
  },
}
