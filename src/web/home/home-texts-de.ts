// The German texts of the page /. Its script fills in the {placeholders}.
import type { HomeTexts } from './home-texts-es.ts'

export const homeTextsDe: HomeTexts = {
  heading: 'Suchen, messen, anbieten',
  intro:
    'Drei Funktionen für einen Katalog und seine Angebote, hier in Betrieb mit den Daten ' +
    'dieses Dienstes, und der Code dafür in eigenen Seiten und Programmen.',
  needsScript:
    'Die lebendigen Teile dieser Seite brauchen JavaScript; die Codebeispiele kommen ohne ' +
    'aus.',
  copy: 'Kopieren',
  copied: 'Kopiert',
  responseSample: 'So beginnt die Antwort',
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
