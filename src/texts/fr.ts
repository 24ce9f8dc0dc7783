// The French texts of the pages, the PDF and the palette.
import type { DashboardTexts, HomeTexts, PaletteTexts, QuoteTexts } from './en.ts'

export const locale = 'fr-FR'
export const name = 'Français'

/** The quote page, its error pages and the PDF. */
export const quotes: QuoteTexts = {
  quote: 'Devis',
  language: 'Langue',
  version: 'Version',
  replaces: 'Remplace les versions antérieures',
  issuedOn: 'Date',
  validUntil: 'Valable jusqu’au',
  firstOfMonth: '1er',
  total: 'Total',
  viewPdf: 'Voir en PDF',
  status: {
    accepted: {
      label: 'Accepté',
      explanation:
        'Ce devis a été accepté. Merci de votre confiance. Pour toute question, contactez-nous.',
    },
    rejected: {
      label: 'Refusé',
      explanation:
        'Ce devis est enregistré comme refusé. Si vous avez changé d’avis, contactez-nous.',
    },
    expired: {
      label: 'Expiré',
      explanation: 'Si vous êtes toujours intéressé, demandez-nous un devis à jour.',
    },
    withdrawn: {
      label: 'Retiré',
      explanation: 'Nous avons retiré ce devis. S’il vous intéresse, demandez-nous-en un nouveau.',
    },
    superseded: {
      label: 'Remplacé',
      explanation:
        'Ce devis n’est plus valable\u00a0: un autre le remplace. Demandez-le-nous si vous ne ' +
        'l’avez pas.',
    },
  },
  validity: (date) => `Il était valable jusqu’au ${date}.`,
  taxId: 'N° TVA',
  vatNumber: 'N° TVA',
  taxNumber: 'N° fiscal',
  buyer: 'Client',
  attention: 'À l’attention de',
  lines: 'Articles',
  position: 'N°',
  description: 'Description',
  quantity: 'Quantité',
  unitPrice: 'Prix',
  discount: 'Rem.',
  tax: 'TVA',
  salesTax: 'Taxe',
  surcharge: 'Surtaxe',
  net: 'Montant',
  sku: 'Réf.',
  hsCode: 'Code douanier',
  origin: 'Origine',
  carriedForward: 'À reporter',
  broughtForward: 'Report',
  totals: 'Totaux',
  jumpToTotal: 'Aller au total',
  discounts: 'Remises, déjà appliquées',
  optional: 'En option, non compris dans le total',
  subtotal: 'Sous-total',
  globalDiscount: 'Remise',
  netTotal: 'Total hors taxes',
  taxAt: (label, rate) => `${label} ${rate}`,
  surchargeAt: (rate) => `Surtaxe d’équivalence ${rate}`,
  onBase: (base) => `sur ${base}`,
  untaxed: 'Sans taxe',
  withheld: 'Retenue à la source',
  amountDue: 'Montant à payer',
  noTax: 'Aucune taxe indiquée',
  taxReasons: {
    intra_community_goods: 'Livraison intracommunautaire exonérée de TVA',
    intra_community_service:
      'Autoliquidation: prestation intracommunautaire, la TVA est due par le preneur',
    export: 'Exportation exonérée de TVA',
    canary_islands: 'Expédition vers les Canaries, Ceuta ou Melilla, exonérée de TVA',
    reverse_charge: 'Autoliquidation: la TVA est due par le preneur',
    exempt: 'Opération exonérée de TVA',
    not_subject: 'Opération hors du champ de la TVA: elle est située dans le pays du preneur',
    small_business: 'Exonéré de TVA par le régime de la franchise en base',
  },
  law: { article: 'art.', spanish: 'loi espagnole 37/1992', european: 'directive 2006/112/CE' },
  terms: 'Conditions',
  incoterms: (edition) => `Incoterms® ${edition}`,
  delivery: 'Livraison',
  payment: 'Paiement',
  bank: 'Compte bancaire',
  holder: 'Titulaire',
  bankAdvice:
    'Si un message annonce que notre compte a changé, confirmez-le avec nous par ' +
    'téléphone avant de payer\u00a0:',
  ibanIsWrong:
    'Les chiffres de contrôle de cet IBAN sont faux. Ne payez pas sans confirmation ' +
    'par téléphone.',
  reference: 'Référence du paiement',
  selectToCopy: 'Un clic sélectionne toute la donnée, pour la copier.',
  sepaQr: 'Scannez-le avec l’application de votre banque pour remplir le virement',
  notes: 'Remarques',
  legal: 'Mentions légales',
  ofLines: (positions, count) => `${count === 1 ? 'Ligne' : 'Lignes'} ${positions}`,
  contentHash: 'Empreinte SHA-256 du contenu',
  compareHash:
    'La page du lien et le PDF montrent la même empreinte. Si elles diffèrent, le PDF ' +
    'a été modifié\u00a0: ne payez pas sans confirmer le compte avec nous par téléphone.',
  linkExpires: (instant) => `Ce lien fonctionne jusqu’au ${instant}.`,
  json: 'Données en JSON',
  pageNumber: {
    before: 'Page',
    between: 'sur',
  },
  reply: {
    title: 'Répondre par e-mail',
    accept: 'Accepter',
    ask: 'Poser une question',
    renew: 'Demander une mise à jour',
    acceptSubject: (number) => `Acceptation du devis ${number}`,
    acceptBody: (number, version, total) =>
      `J’accepte le devis ${number}, version ${version}, d’un total de ${total}.`,
    askSubject: (number) => `Question sur le devis ${number}`,
    renewSubject: (number) => `Demande de mise à jour du devis ${number}`,
  },
  errors: {
    not_found: {
      title: 'Il n’y a pas de devis ici',
      explanation:
        'Vérifiez que le lien est complet, tel que vous l’avez reçu. S’il ne s’ouvre ' +
        'toujours pas, demandez-en un autre à la personne qui vous l’a envoyé.',
    },
    link_expired: {
      title: 'Ce lien a expiré',
      explanation: 'Il n’ouvre plus le devis. Demandez-nous un nouveau lien.',
    },
    link_revoked: {
      title: 'Ce lien a été retiré',
      explanation: 'Il n’ouvre plus le devis. Demandez-nous un nouveau lien.',
    },
    rate_limited: {
      title: 'Trop de requêtes',
      explanation: 'Attendez une minute, puis rechargez la page.',
    },
    unavailable: {
      title: 'Indisponible pour le moment',
      explanation: 'Le devis ne peut pas être lu maintenant. Réessayez dans un instant.',
    },
    not_acceptable: {
      title: 'Format non disponible',
      explanation:
        'Le devis n’est pas disponible dans ce format. Ouvrez-le avec le lien tel que vous ' +
        'l’avez reçu.',
    },
    wrong_request: {
      title: 'Cette requête ne peut pas être traitée',
      explanation: 'Ouvrez le devis avec le lien tel que vous l’avez reçu.',
    },
    pdf_unsupported: {
      title: 'Ce devis n’a pas de PDF',
      explanation:
        'Il contient des caractères que le PDF ne peut pas afficher correctement. Ouvrez ' +
        'la page et imprimez-la, ou enregistrez-la en PDF avec la fonction d’impression de ' +
        'votre navigateur.',
    },
    pdf_unavailable: {
      title: 'Le document n’a pas pu être préparé',
      explanation:
        'Il est trop grand, ou nous avons trop de demandes. Réessayez plus tard. La page ' +
        'peut être imprimée ou enregistrée en PDF avec la fonction d’impression de votre ' +
        'navigateur.',
    },
    pending: {
      title: 'Le document est en préparation',
      explanation:
        'Il est volumineux, ou la demande est forte. Il sera prêt dans quelques secondes.',
    },
    internal_error: {
      title: 'Une erreur s’est produite',
      explanation: 'L’erreur vient de nous et a été enregistrée. Réessayez dans un instant.',
    },
  },
  contact: 'Contact',
  tryAgain: 'Réessayer',
  openPage: 'Ouvrir la page du devis',
  units: {
    piece: ['pce', 'pces'],
    pair: ['paire', 'paires'],
    dozen: ['douzaine', 'douzaines'],
    hundred: ['cent', 'cents'],
    thousand: ['mille', 'mille'],
    set: ['jeu', 'jeux'],
    pack: ['paquet', 'paquets'],
    box: ['boîte', 'boîtes'],
    carton: ['carton', 'cartons'],
    bag: ['sachet', 'sachets'],
    sack: ['sac', 'sacs'],
    bottle: ['bouteille', 'bouteilles'],
    pallet: ['palette', 'palettes'],
    roll: ['rouleau', 'rouleaux'],
    day: ['jour', 'jours'],
    workingDay: ['jour ouvré', 'jours ouvrés'],
    week: ['semaine', 'semaines'],
    month: ['mois', 'mois'],
    year: ['an', 'ans'],
    service: ['service', 'services'],
    lumpSum: ['forfait', 'forfaits'],
  },
}

/** The page /dashboard. Its script fills in the {placeholders}. */
export const dashboard: DashboardTexts = {
  title: 'Statistiques',
  heading: 'Devis et chiffre d’affaires',
  filters: 'Filtres',
  period: 'Période',
  presets: {
    month: 'Ce mois',
    year: 'Cette année',
    '12m': '12 mois',
    all: 'Tout',
  },
  previousPeriod: 'Période précédente',
  nextPeriod: 'Période suivante',
  from: 'Du',
  to: 'Au',
  country: 'Pays',
  allCountries: 'Tous les pays',
  allCurrencies: 'Toutes les devises',
  unknownCountry: 'Sans pays',
  dateKind: 'Date utilisée',
  dateKinds: {
    issued: 'Par date d’émission',
    accepted: 'Par date d’acceptation',
  },
  compare: 'Comparaison',
  comparisons: {
    none: 'Sans comparaison',
    previous_period: 'Avec la période précédente',
    previous_year: 'Avec l’année précédente',
  },
  csv: 'CSV',
  csvTitle: 'Télécharger ces statistiques en CSV',
  print: 'Imprimer',
  forgetKey: 'Oublier la clé',
  needsScript: 'Cette page a besoin de JavaScript. Les mêmes statistiques se trouvent à',
  updated: 'À jour · à {time}',
  notUpdated: 'Pas à jour · {time} ({age})',
  comparedWith: 'Comparé à {period}',
  previousValue: 'avant {value}',
  points: '{points} pt',
  revenue: 'Chiffre d’affaires',
  netOfAccepted: 'Montant hors taxes des devis acceptés',
  withoutRate: {
    one: 'Sans {count} devis qui n’a pas de taux de change',
    other: 'Sans {count} devis qui n’ont pas de taux de change',
  },
  quotes: 'Devis',
  accepted: 'Acceptés',
  open: 'En cours',
  sentAndValid: 'Envoyés et encore valables\u00a0: {count}',
  lost: 'Perdus',
  rejectedAndExpired: 'Refusés et expirés\u00a0: {count}',
  acceptance: 'Acceptation',
  ofDecided: 'des décidés',
  ofSent: 'des envoyés',
  byNumber: 'En nombre',
  byValue: 'En valeur',
  outOf: '{part} sur {whole}',
  daysToDecision: 'Jours jusqu’à la décision',
  median: 'Médiane',
  mean: 'Moyenne',
  medianAndMean: 'Médiane\u00a0; la moyenne est de {mean}',
  decidedOnKnownDay: 'Avec un jour de décision\u00a0: {count}',
  average: 'Montant moyen',
  perAccepted: 'Par devis accepté',
  loading: 'Chargement…',
  trail: 'Fil d’Ariane',
  timeline: 'Dans le temps',
  days: 'Jours',
  months: 'Mois',
  years: 'Années',
  table: 'Tableau',
  byDay: 'Devis et chiffre d’affaires par jour',
  byMonth: 'Devis et chiffre d’affaires par mois',
  byYear: 'Devis et chiffre d’affaires par an',
  day: 'Jour',
  month: 'Mois',
  year: 'Année',
  partial: 'partiel',
  partialLegend: 'Incomplet',
  otherQuotes: 'Autres',
  revenueChartLabel:
    'Histogramme du chiffre d’affaires en {currency}, du {from} au {to}. Le tableau ' +
    'ci-dessous contient les mêmes données.',
  quotesChartLabel:
    'Histogramme des devis acceptés et autres, du {from} au {to}. Le tableau ci-dessous ' +
    'contient les mêmes données.',
  quotesInPeriod: 'Devis\u00a0: {quotes}, dont acceptés\u00a0: {accepted}',
  byCountry: 'Par pays',
  showAll: 'Afficher les {count}',
  columns: 'Colonnes',
  columnGroups: {
    revenue: 'Chiffre d’affaires',
    outcomes: 'En cours et perdus',
    acceptance: 'Acceptation',
    days: 'Jours',
  },
  amountsIn: 'Montants en {currency}',
  acceptanceOfDecided: 'Acceptation des décidés',
  byStatus: 'Par état',
  statusHeading: 'État',
  share: '%',
  status: {
    draft: 'Brouillon',
    sent: 'Envoyé',
    accepted: 'Accepté',
    rejected: 'Refusé',
    expired: 'Expiré',
    withdrawn: 'Retiré',
  },
  acceptedOnlyNote: 'Par date d’acceptation, seuls les devis acceptés comptent',
  byCurrency: 'Par devise',
  currency: 'Devise',
  amount: 'Montant non converti',
  ofWhichUnconverted: 'sans taux de change',
  currenciesNote:
    'Les montants sans taux de change ne font pas partie du chiffre d’affaires en ' + '{currency}.',
  breakdown: {
    heading: 'Clients et produits',
    customers: 'Clients',
    customer: 'Client',
    noCustomer: 'Sans client',
    otherCustomers: {
      one: '{count} autre client',
      other: '{count} autres clients',
    },
    products: 'Produits des devis acceptés',
    product: 'Produit',
    noSku: 'Sans référence',
    otherProducts: {
      one: '{count} autre produit',
      other: '{count} autres produits',
    },
    lines: 'Lignes',
    linesWithoutRate: {
      one: 'Sans {count} ligne qui n’a pas de taux de change',
      other: 'Sans {count} lignes qui n’ont pas de taux de change',
    },
  },
  searches: {
    heading: 'Ce que les gens recherchent',
    summary: {
      one: '{days} derniers jours\u00a0: {searches} recherche, dont {withoutResult} sans résultat.',
      other:
        '{days} derniers jours\u00a0: {searches} recherches, dont {withoutResult} sans résultat.',
    },
    frequent: 'Les plus fréquentes',
    unsuccessful: 'Sans résultat',
    words: 'Mots qu’aucun produit ne contient',
    text: 'Texte',
    count: 'Recherches',
    none: 'Aucune que cinq personnes aient faite.',
    note: 'Un texte apparaît quand cinq personnes différentes l’ont recherché.',
  },
  definitionsTitle: 'Définitions',
  definedTerms: {
    revenue: 'Chiffre d’affaires\u00a0:',
    open: 'En cours\u00a0:',
    lost: 'Perdus\u00a0:',
    acceptance: 'Acceptation\u00a0:',
    days: 'Jours jusqu’à la décision\u00a0:',
  },
  definitions: {
    revenue:
      'montant hors taxes des devis acceptés, chacun converti à son propre taux de ' + 'change.',
    open:
      'montant hors taxes des devis envoyés qui sont encore valables aujourd’hui, sans ' +
      'ceux qui n’ont pas de taux de change.',
    lost:
      'montant hors taxes des devis refusés et expirés, y compris les devis envoyés dont ' +
      'la validité est passée, sans ceux qui n’ont pas de taux de change.',
    acceptance:
      'la part acceptée, en nombre de devis et en montant hors taxes, des devis décidés ' +
      '(acceptés, refusés et expirés) et des devis envoyés (décidés et en cours).',
    days:
      'jours de l’émission à la décision des devis acceptés et refusés qui ont un jour de ' +
      'décision\u00a0; la moitié a été décidée dans la médiane.',
  },
  noRows: 'Aucune donnée dans cette période.',
  noQuotes: 'Il n’y a pas de devis dans cette période.',
  showEverything: 'Tout afficher',
  announcement: '{period}. Devis\u00a0: {quotes}. Chiffre d’affaires\u00a0: {revenue}',
  retry: 'Réessayer maintenant',
  retryIn: 'Nouvel essai dans {seconds} s.',
  errors: {
    keyInvalid: 'Cette clé n’est pas valable\u00a0: inconnue, expirée ou révoquée.',
    scopeMissing: 'Il manque à cette clé le droit stats:read.',
    invalidFilter: 'Un filtre n’est pas valable\u00a0: {parameters}.',
    limited: 'Trop de requêtes avec cette clé ou depuis votre adresse.',
    unavailable: 'Le service est indisponible pour le moment.',
    offline: 'Pas de connexion au réseau.',
    failed: 'La requête a échoué.',
  },
  keyHeading: 'Ces statistiques demandent une clé',
  keyExplanation:
    'Une clé secrète (tqs_…) avec le droit stats:read, de l’opérateur du service. Elle ' +
    'n’est conservée que dans cet onglet, jusqu’à sa fermeture.',
  key: 'Clé',
  useKey: 'Afficher les statistiques',
  cancel: 'Annuler',
  needsDetailScope: 'Il faut une clé avec le droit stats:detail.',
  enterKey: 'Saisir une clé',
}

/** The page /. Its script fills in the {placeholders}. */
export const home: HomeTexts = {
  heading: 'Chercher, mesurer, chiffrer',
  intro:
    'Trois fonctions pour un catalogue et ses devis, qui marchent ici même avec les données ' +
    'de ce service, et le code pour les avoir dans vos pages et vos programmes.',
  needsScript:
    'Les parties vivantes de cette page ont besoin de JavaScript\u00a0; les exemples de code ' +
    's’en passent.',
  copy: 'Copier',
  copied: 'Copié',
  responseSample: 'La réponse',
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

/** The palette. */
export const palette: PaletteTexts = {
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
