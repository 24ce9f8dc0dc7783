// The German texts of the palette.

/** @type {import('../palette.d.ts').PaletteTexts} */
export default {
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
