// The Italian texts of the pages, the PDF and the palette.
import type { DashboardTexts, HomeTexts, PaletteTexts, QuoteTexts } from './en.ts'

export const locale = 'it-IT'
export const name = 'Italiano'

/** The quote page, its error pages and the PDF. */
export const quotes: QuoteTexts = {
  quote: 'Preventivo',
  language: 'Lingua',
  version: 'Versione',
  replaces: 'Sostituisce le versioni precedenti',
  issuedOn: 'Data',
  validUntil: 'Valido fino al',
  firstOfMonth: '1º',
  total: 'Totale',
  viewPdf: 'Vedi in PDF',
  status: {
    accepted: {
      label: 'Accettato',
      explanation:
        'Questo preventivo è stato accettato. Grazie per la fiducia. Per domande, ci contatti.',
    },
    rejected: {
      label: 'Rifiutato',
      explanation: 'Questo preventivo risulta rifiutato. Se ha cambiato idea, ci contatti.',
    },
    expired: {
      label: 'Scaduto',
      explanation: 'Se è ancora interessato, ci chieda un preventivo aggiornato.',
    },
    withdrawn: {
      label: 'Ritirato',
      explanation: 'Abbiamo ritirato questo preventivo. Se le interessa, ce ne chieda uno nuovo.',
    },
    superseded: {
      label: 'Sostituito',
      explanation:
        'Questo preventivo non è più valido: un altro lo sostituisce. Se non lo ha, ce lo ' +
        'chieda.',
    },
  },
  validity: (date) => `È stato valido fino al ${date}.`,
  taxId: 'Partita IVA',
  vatNumber: 'Partita IVA',
  taxNumber: 'N. fiscale',
  buyer: 'Cliente',
  attention: 'Alla cortese attenzione di',
  lines: 'Articoli',
  position: 'N.',
  description: 'Descrizione',
  quantity: 'Quantità',
  unitPrice: 'Prezzo',
  discount: 'Sconto',
  tax: 'IVA',
  salesTax: 'Imposta',
  surcharge: 'Maggiorazione',
  net: 'Importo',
  sku: 'Rif.',
  hsCode: 'Codice doganale',
  origin: 'Origine',
  carriedForward: 'A riportare',
  broughtForward: 'Riporto',
  totals: 'Totali',
  jumpToTotal: 'Vai al totale',
  discounts: 'Sconti, già applicati',
  optional: 'Facoltativo, non incluso nel totale',
  subtotal: 'Subtotale',
  globalDiscount: 'Sconto',
  netTotal: 'Totale netto',
  taxAt: (label, rate) => `${label} ${rate}`,
  surchargeAt: (rate) => `Maggiorazione di equivalenza ${rate}`,
  onBase: (base) => `su ${base}`,
  untaxed: 'Senza imposta',
  withheld: 'Ritenuta d’acconto',
  amountDue: 'Importo da pagare',
  noTax: 'Nessuna imposta indicata',
  taxReasons: {
    intra_community_goods: 'Cessione intracomunitaria esente da IVA',
    intra_community_service:
      'Inversione contabile: servizio intracomunitario, l’IVA è dovuta dal committente',
    export: 'Esportazione esente da IVA',
    canary_islands: 'Spedizione alle Canarie, Ceuta o Melilla, esente da IVA',
    reverse_charge: 'Inversione contabile: l’IVA è dovuta dal committente',
    exempt: 'Operazione esente da IVA',
    not_subject: 'Operazione non soggetta a IVA: si considera effettuata nel paese del committente',
    small_business: 'Esente da IVA per il regime delle piccole imprese',
  },
  law: { article: 'art.', spanish: 'legge spagnola 37/1992', european: 'direttiva 2006/112/CE' },
  terms: 'Condizioni',
  incoterms: (edition) => `Incoterms® ${edition}`,
  delivery: 'Consegna',
  payment: 'Pagamento',
  bank: 'Conto bancario',
  holder: 'Intestatario',
  bankAdvice:
    'Se un messaggio dice che il nostro conto è cambiato, lo confermi con noi per ' +
    'telefono prima di pagare:',
  ibanIsWrong:
    'Le cifre di controllo di questo IBAN sono errate. Non paghi senza conferma ' + 'telefonica.',
  reference: 'Causale',
  selectToCopy: 'Un clic seleziona tutto il dato, per copiarlo.',
  sepaQr: 'Lo inquadri con l’app della sua banca per compilare il bonifico',
  notes: 'Note',
  legal: 'Note legali',
  ofLines: (positions, count) => `${count === 1 ? 'Riga' : 'Righe'} ${positions}`,
  contentHash: 'Impronta SHA-256 del contenuto',
  compareHash:
    'La pagina del link e il PDF mostrano la stessa impronta. Se sono diverse, il PDF ' +
    'è stato modificato: non paghi senza confermare il conto con noi per telefono.',
  linkExpires: (instant) => `Questo link funziona fino al ${instant}.`,
  json: 'Dati in JSON',
  pageNumber: {
    before: 'Pagina',
    between: 'di',
  },
  reply: {
    title: 'Rispondere per e-mail',
    accept: 'Accettare',
    ask: 'Fare una domanda',
    renew: 'Chiedere un aggiornamento',
    acceptSubject: (number) => `Accettazione del preventivo ${number}`,
    acceptBody: (number, version, total) =>
      `Accetto il preventivo ${number}, versione ${version}, per un totale di ${total}.`,
    askSubject: (number) => `Domanda sul preventivo ${number}`,
    renewSubject: (number) => `Richiesta di aggiornamento del preventivo ${number}`,
  },
  errors: {
    not_found: {
      title: 'Qui non c’è nessun preventivo',
      explanation:
        'Verifichi che il link sia completo, come lo ha ricevuto. Se ancora non si apre, ' +
        'ne chieda un altro a chi lo ha inviato.',
    },
    link_expired: {
      title: 'Questo link è scaduto',
      explanation: 'Non apre più il preventivo. Ci chieda un nuovo link.',
    },
    link_revoked: {
      title: 'Questo link è stato ritirato',
      explanation: 'Non apre più il preventivo. Ci chieda un nuovo link.',
    },
    rate_limited: {
      title: 'Troppe richieste',
      explanation: 'Aspetti un minuto e ricarichi la pagina.',
    },
    unavailable: {
      title: 'Non disponibile al momento',
      explanation: 'Il preventivo non può essere letto ora. Riprovi tra poco.',
    },
    not_acceptable: {
      title: 'Formato non disponibile',
      explanation:
        'Il preventivo non è disponibile in questo formato. Lo apra con il link come lo ha ' +
        'ricevuto.',
    },
    wrong_request: {
      title: 'Questa richiesta non può essere soddisfatta',
      explanation: 'Apra il preventivo con il link come lo ha ricevuto.',
    },
    pdf_unsupported: {
      title: 'Questo preventivo non ha un PDF',
      explanation:
        'Contiene caratteri che il PDF non può mostrare correttamente. Apra la pagina e la ' +
        'stampi, o la salvi come PDF con la funzione di stampa del browser.',
    },
    pdf_unavailable: {
      title: 'Il documento non è stato preparato',
      explanation:
        'È troppo grande o ci sono molte richieste. Riprovi più tardi. La pagina si può ' +
        'stampare o salvare come PDF con la funzione di stampa del browser.',
    },
    pending: {
      title: 'Stiamo preparando il documento',
      explanation: 'È grande o ci sono molte richieste. Sarà pronto tra pochi secondi.',
    },
    internal_error: {
      title: 'Qualcosa è andato storto',
      explanation: 'L’errore è nostro ed è stato registrato. Riprovi tra poco.',
    },
  },
  contact: 'Contatto',
  tryAgain: 'Riprovare',
  openPage: 'Aprire la pagina del preventivo',
  units: {
    piece: ['pz', 'pz'],
    pair: ['paio', 'paia'],
    dozen: ['dozzina', 'dozzine'],
    hundred: ['centinaio', 'centinaia'],
    thousand: ['migliaio', 'migliaia'],
    set: ['set', 'set'],
    pack: ['pacco', 'pacchi'],
    box: ['scatola', 'scatole'],
    carton: ['cartone', 'cartoni'],
    bag: ['busta', 'buste'],
    sack: ['sacco', 'sacchi'],
    bottle: ['bottiglia', 'bottiglie'],
    pallet: ['pallet', 'pallet'],
    roll: ['rotolo', 'rotoli'],
    day: ['giorno', 'giorni'],
    workingDay: ['giornata', 'giornate'],
    week: ['settimana', 'settimane'],
    month: ['mese', 'mesi'],
    year: ['anno', 'anni'],
    service: ['servizio', 'servizi'],
    lumpSum: ['a corpo', 'a corpo'],
  },
}

/** The page /dashboard. Its script fills in the {placeholders}. */
export const dashboard: DashboardTexts = {
  title: 'Statistiche',
  heading: 'Preventivi e ricavi',
  filters: 'Filtri',
  period: 'Periodo',
  presets: {
    month: 'Questo mese',
    year: 'Quest’anno',
    '12m': '12 mesi',
    all: 'Tutto',
  },
  previousPeriod: 'Periodo precedente',
  nextPeriod: 'Periodo successivo',
  from: 'Da',
  to: 'A',
  country: 'Paese',
  allCountries: 'Tutti i paesi',
  allCurrencies: 'Tutte le valute',
  unknownCountry: 'Senza paese',
  dateKind: 'Data usata',
  dateKinds: {
    issued: 'Per data di emissione',
    accepted: 'Per data di accettazione',
  },
  compare: 'Confronto',
  comparisons: {
    none: 'Senza confronto',
    previous_period: 'Con il periodo precedente',
    previous_year: 'Con l’anno precedente',
  },
  csv: 'CSV',
  csvTitle: 'Scaricare queste statistiche in CSV',
  print: 'Stampare',
  forgetKey: 'Dimenticare la chiave',
  needsScript: 'Questa pagina ha bisogno di JavaScript. Le stesse statistiche sono in',
  updated: 'Aggiornato · alle {time}',
  notUpdated: 'Non aggiornato · {time} ({age})',
  comparedWith: 'Confrontato con {period}',
  previousValue: 'prima {value}',
  points: '{points} pp',
  revenue: 'Ricavi',
  netOfAccepted: 'Importo netto dei preventivi accettati',
  withoutRate: {
    one: 'Senza {count} preventivo che non ha un cambio',
    other: 'Senza {count} preventivi che non hanno un cambio',
  },
  quotes: 'Preventivi',
  accepted: 'Accettati',
  open: 'Aperti',
  sentAndValid: 'Inviati e ancora validi: {count}',
  lost: 'Persi',
  rejectedAndExpired: 'Rifiutati e scaduti: {count}',
  acceptance: 'Accettazione',
  ofDecided: 'dei decisi',
  ofSent: 'degli inviati',
  byNumber: 'Per numero',
  byValue: 'Per valore',
  outOf: '{part} di {whole}',
  daysToDecision: 'Giorni alla decisione',
  median: 'Mediana',
  mean: 'Media',
  medianAndMean: 'Mediana; la media è {mean}',
  decidedOnKnownDay: 'Con un giorno di decisione: {count}',
  average: 'Importo medio',
  perAccepted: 'Per preventivo accettato',
  loading: 'Caricamento…',
  trail: 'Percorso',
  timeline: 'Nel tempo',
  days: 'Giorni',
  months: 'Mesi',
  years: 'Anni',
  table: 'Tabella',
  byDay: 'Preventivi e ricavi per giorno',
  byMonth: 'Preventivi e ricavi per mese',
  byYear: 'Preventivi e ricavi per anno',
  day: 'Giorno',
  month: 'Mese',
  year: 'Anno',
  partial: 'parziale',
  partialLegend: 'Incompleto',
  otherQuotes: 'Altri',
  revenueChartLabel:
    'Grafico a colonne dei ricavi in {currency}, da {from} a {to}. La tabella qui sotto ' +
    'contiene gli stessi dati.',
  quotesChartLabel:
    'Grafico a colonne dei preventivi accettati e altri, da {from} a {to}. La tabella ' +
    'qui sotto contiene gli stessi dati.',
  quotesInPeriod: 'Preventivi: {quotes}, di cui accettati: {accepted}',
  byCountry: 'Per paese',
  showAll: 'Mostrare tutti i {count}',
  columns: 'Colonne',
  columnGroups: {
    revenue: 'Ricavi',
    outcomes: 'Aperti e persi',
    acceptance: 'Accettazione',
    days: 'Giorni',
  },
  amountsIn: 'Importi in {currency}',
  acceptanceOfDecided: 'Accettazione dei decisi',
  byStatus: 'Per stato',
  statusHeading: 'Stato',
  share: '%',
  status: {
    draft: 'Bozza',
    sent: 'Inviato',
    accepted: 'Accettato',
    rejected: 'Rifiutato',
    expired: 'Scaduto',
    withdrawn: 'Ritirato',
  },
  acceptedOnlyNote: 'Per data di accettazione contano solo i preventivi accettati',
  byCurrency: 'Per valuta',
  currency: 'Valuta',
  amount: 'Importo non convertito',
  ofWhichUnconverted: 'senza cambio',
  currenciesNote: 'Gli importi senza cambio non fanno parte dei ricavi in {currency}.',
  breakdown: {
    heading: 'Clienti e prodotti',
    customers: 'Clienti',
    customer: 'Cliente',
    noCustomer: 'Senza cliente',
    otherCustomers: {
      one: '{count} altro cliente',
      other: '{count} altri clienti',
    },
    products: 'Prodotti dei preventivi accettati',
    product: 'Prodotto',
    noSku: 'Senza codice',
    otherProducts: {
      one: '{count} altro prodotto',
      other: '{count} altri prodotti',
    },
    lines: 'Righe',
    linesWithoutRate: {
      one: 'Senza {count} riga che non ha un cambio',
      other: 'Senza {count} righe che non hanno un cambio',
    },
  },
  searches: {
    heading: 'Che cosa si cerca',
    summary: {
      one: 'Ultimi {days} giorni: {searches} ricerca, di cui {withoutResult} senza risultati.',
      other: 'Ultimi {days} giorni: {searches} ricerche, di cui {withoutResult} senza risultati.',
    },
    frequent: 'Più frequenti',
    unsuccessful: 'Senza risultati',
    words: 'Parole che nessun prodotto contiene',
    text: 'Testo',
    count: 'Ricerche',
    none: 'Nessuna fatta da cinque persone.',
    note: 'Un testo compare quando lo hanno cercato cinque persone diverse.',
  },
  definitionsTitle: 'Definizioni',
  definedTerms: {
    revenue: 'Ricavi:',
    open: 'Aperti:',
    lost: 'Persi:',
    acceptance: 'Accettazione:',
    days: 'Giorni alla decisione:',
  },
  definitions: {
    revenue: 'importo netto dei preventivi accettati, ciascuno convertito al proprio cambio.',
    open:
      'importo netto dei preventivi inviati che oggi sono ancora validi, senza quelli che ' +
      'non hanno un cambio.',
    lost:
      'importo netto dei preventivi rifiutati e scaduti, compresi quelli inviati la cui ' +
      'validità è finita, senza quelli che non hanno un cambio.',
    acceptance:
      'la parte accettata, per numero di preventivi e per importo netto, dei decisi ' +
      '(accettati, rifiutati e scaduti) e degli inviati (decisi e aperti).',
    days:
      'giorni dall’emissione alla decisione dei preventivi accettati e rifiutati con un ' +
      'giorno di decisione; la metà è stata decisa entro la mediana.',
  },
  noRows: 'Nessun dato in questo periodo.',
  noQuotes: 'Non ci sono preventivi in questo periodo.',
  showEverything: 'Mostrare tutto',
  announcement: '{period}. Preventivi: {quotes}. Ricavi: {revenue}',
  retry: 'Riprovare ora',
  retryIn: 'Nuovo tentativo tra {seconds} s.',
  errors: {
    keyInvalid: 'Questa chiave non è valida: sconosciuta, scaduta o revocata.',
    scopeMissing: 'A questa chiave manca il permesso stats:read.',
    invalidFilter: 'Un filtro non è valido: {parameters}.',
    limited: 'Troppe richieste con questa chiave o dal suo indirizzo.',
    unavailable: 'Il servizio non è disponibile al momento.',
    offline: 'Nessuna connessione di rete.',
    failed: 'La richiesta non è riuscita.',
  },
  keyHeading: 'Queste statistiche richiedono una chiave',
  keyExplanation:
    'Una chiave segreta (tqs_…) con il permesso stats:read, dal gestore del servizio. ' +
    'Resta solo in questa scheda, finché non la chiude.',
  key: 'Chiave',
  useKey: 'Mostrare le statistiche',
  cancel: 'Annulla',
  needsDetailScope: 'Serve una chiave con il permesso stats:detail.',
  enterKey: 'Inserire una chiave',
}

/** The page /. Its script fills in the {placeholders}. */
export const home: HomeTexts = {
  heading: 'Cercare, misurare, preventivare',
  intro:
    'Tre funzioni per un catalogo e i suoi preventivi, attive qui con i dati di questo ' +
    'servizio, e il codice per averle nelle proprie pagine e nei propri programmi.',
  needsScript:
    'Le parti vive di questa pagina richiedono JavaScript; gli esempi di codice funzionano ' +
    'senza.',
  copy: 'Copia',
  copied: 'Copiato',
  responseSample: 'La risposta',
  docs: 'Documentazione dell’API',
  search: {
    title: 'Cercare prodotti',
    text:
      'A ogni tasto, con errori di battitura, sinonimi e codici esatti. Ctrl+K (⌘K) la apre ' +
      'da ovunque.',
    label: 'Prodotto, parola o codice',
    placeholder: 'Prova «jumbo strage bag», «taladro» o «85123a»',
    chosen: 'Scelto: {name} · {sku} · {price}',
    noPrice: 'senza prezzo',
    tag: 'Nella tua pagina: un tag, da ogni origine della sua chiave',
    pinnedTag: 'Oppure esattamente questa versione, da sostituire a ogni aggiornamento',
    keyOfService:
      'La chiave mostrata è per le pagine di {origin}. Per le tue, creane una con la loro origine:',
    noKey: 'Crea una chiave per l’origine della tua pagina:',
    createKey: 'Una chiave per la tua origine',
    curl: 'Da un programma',
  },
  stats: {
    title: 'Statistiche',
    text: 'Preventivi, accettazione e ricavi, esatti al centesimo e aggiornati entro due secondi.',
    open: 'Apri le statistiche',
    needsKey:
      'Le statistiche richiedono una chiave con il permesso stats:read: la chiede il cruscotto.',
    unavailable: 'Le statistiche non sono disponibili al momento.',
    curl: 'Da un programma',
  },
  quote: {
    title: 'Un preventivo tramite link',
    text:
      'Il cliente lo apre senza account: pagina, PDF o JSON. Ciò che è stato inviato non ' +
      'cambia, anche se cambia la base di dati.',
    open: 'Apri il preventivo',
    unavailable: 'Il preventivo non è disponibile al momento.',
    none: 'Qui non se ne mostra nessuno. Un link si crea così:',
    curl: 'Lo stesso, in JSON o in PDF',
  },
}

/** The palette. */
export const palette: PaletteTexts = {
  title: 'Cercare prodotti',
  list: 'Prodotti',
  close: 'Chiudere: esc',
  favourites: 'Preferiti',
  recent: 'Recenti',
  popular: 'Più preventivati',
  count: (shown, total) => {
    if (total === 1) return '1 risultato'
    const of = shown < total ? `${shown} di ` : ''
    return `${of}${total >= 1000 ? '1000 o più' : total} risultati`
  },
  nothing: (query) => `Nessun risultato per «${query}»`,
  advice: 'Provi con meno lettere, un’altra parola o il codice.',
  chosen: (name) => `Scelto: ${name}`,
  notChosen: (query) => `Niente scelto: l’elenco non è ancora quello di «${query}».`,
  marked: (name) => `Preferito: ${name}`,
  unmarked: (name) => `Non è più un preferito: ${name}`,
  deleted: (name) => `«${name}» non è più nel catalogo`,
  degraded: 'Ricerca di riserva: i risultati possono essere incompleti',
  didYouMean: 'Intendevi questo?',
  inexact: (name) => `Non esatto: di nuovo Invio sceglie «${name}»`,
  copied: (sku) => `Copiato: ${sku}`,
  more: (count) => `Mostrane ancora ${count}`,
  failures: {
    offline: 'Senza connessione. Continua quando torna.',
    unreachable: 'La ricerca non è raggiungibile. Nuovo tentativo…',
    unavailable: 'La ricerca non è disponibile al momento. Nuovo tentativo…',
    refused: 'La ricerca non è valida.',
    unauthenticated: 'Nessun accesso: la chiave manca o non è valida.',
    forbidden: 'Nessun accesso: questa chiave non può cercare qui.',
  },
  limited: (seconds) => `Troppe ricerche. Continua tra ${seconds} s.`,
  hints: {
    move: 'spostarsi',
    choose: 'scegliere',
    chooseMore: 'scegliere e continuare',
    favourite: 'preferito',
    copy: 'copiare il codice',
  },
}
