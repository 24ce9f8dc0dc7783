// The texts of the quote page and the PDF in French.
import type { QuoteTexts } from './quote-texts-en.ts'

export const fr: QuoteTexts = {
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
  netTotal: 'Total hors taxes',
  taxAt: (label, rate) => `${label} ${rate}`,
  surchargeAt: (rate) => `Surtaxe d’équivalence ${rate}`,
  onBase: (base) => `sur ${base}`,
  untaxed: 'Sans taxe',
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
    rendering_too_large: {
      title: 'Ce devis est trop grand pour une page',
      explanation: 'Ouvrez-le en PDF, ou demandez-le à la personne qui vous l’a envoyé.',
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
