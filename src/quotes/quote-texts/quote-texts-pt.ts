// The texts of the quote page and the PDF in Portuguese.
import type { QuoteTexts } from './quote-texts-en.ts'

export const pt: QuoteTexts = {
  quote: 'Orçamento',
  language: 'Idioma',
  version: 'Versão',
  replaces: 'Substitui as versões anteriores',
  issuedOn: 'Data',
  validUntil: 'Válido até',
  firstOfMonth: null,
  total: 'Total',
  viewPdf: 'Ver em PDF',
  status: {
    accepted: {
      label: 'Aceite',
      explanation:
        'Este orçamento foi aceite. Obrigado pela sua confiança. Se tiver perguntas, contacte-nos.',
    },
    rejected: {
      label: 'Recusado',
      explanation: 'Este orçamento consta como recusado. Se mudou de opinião, contacte-nos.',
    },
    expired: {
      label: 'Expirado',
      explanation: 'Se ainda estiver interessado, peça-nos um atualizado.',
    },
    superseded: {
      label: 'Substituído',
      explanation:
        'Este orçamento já não está em vigor: outro substitui-o. Se não o tiver, peça-nos.',
    },
  },
  validity: (date) => `Foi válido até ${date}.`,
  taxId: 'NIF',
  vatNumber: 'N.º IVA',
  taxNumber: 'N.º fiscal',
  buyer: 'Cliente',
  attention: 'Ao cuidado de',
  lines: 'Artigos',
  position: 'N.º',
  description: 'Descrição',
  quantity: 'Quantidade',
  unitPrice: 'Preço',
  discount: 'Desc.',
  tax: 'IVA',
  salesTax: 'Imposto',
  surcharge: 'Sobretaxa',
  net: 'Valor',
  sku: 'Ref.',
  hsCode: 'Código pautal',
  origin: 'Origem',
  carriedForward: 'A transportar',
  broughtForward: 'Transporte',
  totals: 'Totais',
  jumpToTotal: 'Ir para o total',
  discounts: 'Descontos, já aplicados',
  netTotal: 'Total líquido',
  taxAt: (label, rate) => `${label} ${rate}`,
  surchargeAt: (rate) => `Sobretaxa de equivalência ${rate}`,
  onBase: (base) => `sobre ${base}`,
  untaxed: 'Sem imposto',
  noTax: 'Sem impostos indicados',
  taxReasons: {
    intra_community_goods: 'Transmissão intracomunitária de bens, isenta de IVA',
    intra_community_service:
      'IVA – autoliquidação: serviço intracomunitário, o IVA é devido pelo adquirente',
    export: 'Exportação isenta de IVA',
    canary_islands: 'Envio para as Canárias, Ceuta ou Melilha, isento de IVA',
    reverse_charge: 'IVA – autoliquidação: o IVA é devido pelo adquirente',
    exempt: 'Operação isenta de IVA',
    not_subject: 'Operação não sujeita a IVA: localiza-se no país do adquirente',
    small_business: 'Isento de IVA pelo regime das pequenas empresas',
  },
  law: { article: 'art.º', spanish: 'Lei espanhola 37/1992', european: 'Diretiva 2006/112/CE' },
  terms: 'Condições',
  incoterms: (edition) => `Incoterms® ${edition}`,
  delivery: 'Entrega',
  payment: 'Pagamento',
  bank: 'Conta bancária',
  holder: 'Titular',
  bankAdvice:
    'Se uma mensagem disser que a nossa conta mudou, confirme connosco por telefone ' +
    'antes de pagar:',
  ibanIsWrong:
    'Os dígitos de controlo deste IBAN estão errados. Não pague sem confirmar por ' + 'telefone.',
  reference: 'Referência do pagamento',
  selectToCopy: 'Um clique seleciona o dado inteiro, para o copiar.',
  sepaQr: 'Digitalize com a aplicação do seu banco para preencher a transferência',
  notes: 'Observações',
  legal: 'Informação legal',
  ofLines: (positions, count) => `${count === 1 ? 'Linha' : 'Linhas'} ${positions}`,
  contentHash: 'Impressão digital SHA-256 do conteúdo',
  compareHash:
    'A página da ligação e o PDF mostram a mesma impressão digital. Se forem ' +
    'diferentes, o PDF foi alterado: não pague sem confirmar a conta connosco por ' +
    'telefone.',
  linkExpires: (instant) => `Esta ligação funciona até ${instant}.`,
  json: 'Dados em JSON',
  pageNumber: {
    before: 'Página',
    between: 'de',
  },
  reply: {
    title: 'Responder por e-mail',
    accept: 'Aceitar',
    ask: 'Fazer uma pergunta',
    renew: 'Pedir um atualizado',
    acceptSubject: (number) => `Aceito o orçamento ${number}`,
    acceptBody: (number, version, total) =>
      `Aceito o orçamento ${number}, versão ${version}, no total de ${total}.`,
    askSubject: (number) => `Pergunta sobre o orçamento ${number}`,
    renewSubject: (number) => `Pedido de atualização do orçamento ${number}`,
  },
  errors: {
    not_found: {
      title: 'Não há nenhum orçamento aqui',
      explanation:
        'Verifique se a ligação está completa, tal como a recebeu. Se continuar sem abrir, ' +
        'peça outra a quem a enviou.',
    },
    link_expired: {
      title: 'Esta ligação expirou',
      explanation: 'Já não abre o orçamento. Peça-nos uma nova ligação.',
    },
    link_revoked: {
      title: 'Esta ligação foi retirada',
      explanation: 'Já não abre o orçamento. Peça-nos uma nova ligação.',
    },
    rate_limited: {
      title: 'Demasiados pedidos',
      explanation: 'Espere um minuto e volte a carregar a página.',
    },
    unavailable: {
      title: 'Indisponível de momento',
      explanation: 'O orçamento não pode ser lido agora. Tente novamente dentro de momentos.',
    },
    not_acceptable: {
      title: 'Formato não disponível',
      explanation:
        'O orçamento não está disponível neste formato. Abra-o com a ligação tal como a ' +
        'recebeu.',
    },
    wrong_request: {
      title: 'Este pedido não pode ser atendido',
      explanation: 'Abra o orçamento com a ligação tal como a recebeu.',
    },
    pdf_unsupported: {
      title: 'Este orçamento não tem PDF',
      explanation:
        'Contém caracteres que o PDF não consegue mostrar bem. Abra a página e imprima-a, ' +
        'ou guarde-a como PDF com a função de impressão do seu navegador.',
    },
    pdf_unavailable: {
      title: 'Não foi possível preparar o documento',
      explanation:
        'É demasiado grande ou há muitos pedidos. Tente mais tarde. A página pode ser ' +
        'impressa ou guardada como PDF com a função de impressão do seu navegador.',
    },
    rendering_too_large: {
      title: 'Este orçamento é demasiado grande para uma página',
      explanation: 'Abra-o em PDF ou peça-o a quem lho enviou.',
    },
    pending: {
      title: 'Estamos a preparar o documento',
      explanation: 'É grande ou há muitos pedidos. Estará pronto dentro de segundos.',
    },
    internal_error: {
      title: 'Algo correu mal',
      explanation: 'O erro é nosso e ficou registado. Tente novamente dentro de momentos.',
    },
  },
  contact: 'Contacto',
  tryAgain: 'Tentar novamente',
  openPage: 'Abrir a página do orçamento',
  units: {
    piece: ['un.', 'un.'],
    pair: ['par', 'pares'],
    dozen: ['dúzia', 'dúzias'],
    hundred: ['cento', 'centos'],
    thousand: ['milhar', 'milhares'],
    set: ['conjunto', 'conjuntos'],
    pack: ['pacote', 'pacotes'],
    box: ['caixa', 'caixas'],
    carton: ['caixa de cartão', 'caixas de cartão'],
    bag: ['bolsa', 'bolsas'],
    sack: ['saco', 'sacos'],
    bottle: ['garrafa', 'garrafas'],
    pallet: ['palete', 'paletes'],
    roll: ['rolo', 'rolos'],
    day: ['dia', 'dias'],
    workingDay: ['dia de trabalho', 'dias de trabalho'],
    week: ['semana', 'semanas'],
    month: ['mês', 'meses'],
    year: ['ano', 'anos'],
    service: ['serviço', 'serviços'],
    lumpSum: ['valor global', 'valores globais'],
  },
}
