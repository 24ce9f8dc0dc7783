// The texts of the quote page and the PDF in Italian.
import type { QuoteTexts } from './quote-texts-en.ts'

export const it: QuoteTexts = {
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
  netTotal: 'Totale netto',
  taxAt: (label, rate) => `${label} ${rate}`,
  surchargeAt: (rate) => `Maggiorazione di equivalenza ${rate}`,
  onBase: (base) => `su ${base}`,
  untaxed: 'Senza imposta',
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
    rendering_too_large: {
      title: 'Questo preventivo è troppo grande per una pagina',
      explanation: 'Lo apra in PDF, o lo chieda a chi glielo ha inviato.',
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
