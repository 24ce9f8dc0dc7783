// The Italian texts of the palette.

/** @type {import('../palette.d.ts').PaletteTexts} */
export default {
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
