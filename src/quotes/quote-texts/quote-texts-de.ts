// The texts of the quote page and the PDF in German.
import type { QuoteTexts } from './quote-texts-en.ts'

export const de: QuoteTexts = {
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
  netTotal: 'Nettosumme',
  taxAt: (label, rate) => `${label} ${rate}`,
  surchargeAt: (rate) => `Ausgleichszuschlag ${rate}`,
  onBase: (base) => `auf ${base}`,
  untaxed: 'Ohne Steuer',
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
    rendering_too_large: {
      title: 'Dieses Angebot ist zu groß für eine Seite',
      explanation: 'Öffnen Sie es als PDF, oder wenden Sie sich an den Absender.',
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
