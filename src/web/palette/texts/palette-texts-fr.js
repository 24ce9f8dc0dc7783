// The French texts of the palette.

/** @type {import('../palette.d.ts').PaletteTexts} */
export default {
  title: 'Rechercher des produits',
  list: 'Produits',
  close: 'Fermer\u00a0: échap',
  favourites: 'Favoris',
  recent: 'Récents',
  popular: 'Les plus demandés',
  count: (shown, total) => {
    if (total < 2) return `${total} résultat`
    const of = shown < total ? `${shown} sur ` : ''
    return `${of}${total >= 1000 ? '1000 ou plus' : total} résultats`
  },
  nothing: (query) => `Rien trouvé pour «\u00a0${query}\u00a0»`,
  advice: 'Essayez moins de lettres, un autre mot ou le code.',
  chosen: (name) => `Choisi\u00a0: ${name}`,
  notChosen: (query) =>
    `Rien de choisi\u00a0: la liste n’est pas encore celle de «\u00a0${query}\u00a0».`,
  marked: (name) => `Favori\u00a0: ${name}`,
  unmarked: (name) => `N’est plus un favori\u00a0: ${name}`,
  deleted: (name) => `«\u00a0${name}\u00a0» n’est plus au catalogue`,
  degraded: 'Recherche de secours\u00a0: les résultats peuvent être incomplets',
  didYouMean: 'Vouliez-vous dire cela\u00a0?',
  inexact: (name) => `Pas exact\u00a0: Entrée à nouveau choisit «\u00a0${name}\u00a0»`,
  copied: (sku) => `Copié\u00a0: ${sku}`,
  more: (count) => `En afficher ${count} de plus`,
  failures: {
    offline: 'Hors connexion. Reprend au retour de la connexion.',
    unreachable: 'La recherche est injoignable. Nouvel essai…',
    unavailable: 'La recherche est indisponible pour le moment. Nouvel essai…',
    refused: 'La recherche n’est pas valable.',
    unauthenticated: 'Pas d’accès\u00a0: la clé manque ou n’est pas valable.',
    forbidden: 'Pas d’accès\u00a0: cette clé ne permet pas de chercher ici.',
  },
  limited: (seconds) => `Trop de recherches. Reprend dans ${seconds} s.`,
  hints: {
    move: 'se déplacer',
    choose: 'choisir',
    chooseMore: 'choisir et continuer',
    favourite: 'favori',
    copy: 'copier le code',
  },
}
