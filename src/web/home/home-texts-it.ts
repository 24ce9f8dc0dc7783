// The Italian texts of the page /. Its script fills in the {placeholders}.
import type { HomeTexts } from './home-texts-es.ts'

export const homeTextsIt: HomeTexts = {
  heading: 'Cercare, misurare, preventivare',
  intro:
    'Tre funzioni per un catalogo e i suoi preventivi, attive qui con i dati di questo ' +
    'servizio, e il codice per averle nelle proprie pagine e nei propri programmi.',
  needsScript:
    'Le parti vive di questa pagina richiedono JavaScript; gli esempi di codice funzionano ' +
    'senza.',
  copy: 'Copia',
  copied: 'Copiato',
  responseSample: 'La risposta comincia così',
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
