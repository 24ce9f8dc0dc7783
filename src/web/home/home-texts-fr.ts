// The French texts of the page /. Its script fills in the {placeholders}.
import type { HomeTexts } from './home-texts-es.ts'

export const homeTextsFr: HomeTexts = {
  heading: 'Chercher, mesurer, chiffrer',
  intro:
    'Trois fonctions pour un catalogue et ses devis, qui marchent ici même avec les données ' +
    'de ce service, et le code pour les avoir dans vos pages et vos programmes.',
  needsScript:
    'Les parties vivantes de cette page ont besoin de JavaScript\u00a0; les exemples de code ' +
    's’en passent.',
  copy: 'Copier',
  copied: 'Copié',
  responseSample: 'La réponse commence ainsi',
  docs: 'Documentation de l’API',
  search: {
    title: 'Chercher des produits',
    text:
      'À chaque frappe, avec fautes, synonymes et codes exacts. Ctrl+K (⌘K) l’ouvre de ' +
      'partout.',
    label: 'Produit, mot ou code',
    placeholder:
      'Essayez «\u00a0jumbo strage bag\u00a0», «\u00a0taladro\u00a0» ou «\u00a085123a\u00a0»',
    chosen: 'Choisi\u00a0: {name} · {sku} · {price}',
    noPrice: 'sans prix',
    tag: 'Dans votre page\u00a0: une balise, sur toute origine de sa clé',
    pinnedTag: 'Ou exactement cette version, à remplacer après chaque mise à jour',
    keyOfService:
      'La clé affichée est pour les pages de {origin}. Pour les vôtres, créez-en une avec leur ' +
      'origine\u00a0:',
    noKey: 'Créez une clé pour l’origine de votre page\u00a0:',
    createKey: 'Une clé pour votre origine',
    curl: 'Depuis un programme',
  },
  stats: {
    title: 'Statistiques',
    text:
      'Devis, acceptation et chiffre d’affaires, exacts au centime et à jour en deux ' +
      'secondes.',
    open: 'Ouvrir les statistiques',
    needsKey:
      'Les statistiques demandent une clé avec le droit stats:read\u00a0: le tableau de bord ' +
      'la demande.',
    unavailable: 'Les statistiques ne sont pas disponibles pour le moment.',
    curl: 'Depuis un programme',
  },
  quote: {
    title: 'Un devis par lien',
    text:
      'Le client l’ouvre sans compte\u00a0: page, PDF ou JSON. Ce qui a été envoyé ne change ' +
      'pas, même si la base de données change.',
    open: 'Ouvrir le devis',
    unavailable: 'Le devis n’est pas disponible pour le moment.',
    none: 'Aucun devis n’est montré ici. Un lien se crée ainsi\u00a0:',
    curl: 'Le même, en JSON ou en PDF',
  },
}
