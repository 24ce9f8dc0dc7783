// The Portuguese texts of the pages, the PDF and the palette.
import type { DashboardTexts, HomeTexts, PaletteTexts, QuoteTexts } from './en.ts'

export const locale = 'pt-PT'
export const name = 'Português'

/** The quote page, its error pages and the PDF. */
export const quotes: QuoteTexts = {
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
    withdrawn: {
      label: 'Retirado',
      explanation: 'Retirámos este orçamento. Se lhe interessar, peça-nos um novo.',
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
  optional: 'Opcional, não incluído no total',
  subtotal: 'Subtotal',
  globalDiscount: 'Desconto',
  netTotal: 'Total líquido',
  taxAt: (label, rate) => `${label} ${rate}`,
  surchargeAt: (rate) => `Sobretaxa de equivalência ${rate}`,
  onBase: (base) => `sobre ${base}`,
  untaxed: 'Sem imposto',
  withheld: 'Retenção',
  amountDue: 'Valor a pagar',
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

/** The page /dashboard. Its script fills in the {placeholders}. */
export const dashboard: DashboardTexts = {
  title: 'Estatísticas',
  heading: 'Orçamentos e receitas',
  filters: 'Filtros',
  period: 'Período',
  presets: {
    month: 'Este mês',
    year: 'Este ano',
    '12m': '12 meses',
    all: 'Tudo',
  },
  previousPeriod: 'Período anterior',
  nextPeriod: 'Período seguinte',
  from: 'De',
  to: 'Até',
  country: 'País',
  allCountries: 'Todos os países',
  allCurrencies: 'Todas as moedas',
  unknownCountry: 'Sem país',
  dateKind: 'Data utilizada',
  dateKinds: {
    issued: 'Por data de emissão',
    accepted: 'Por data de aceitação',
  },
  compare: 'Comparação',
  comparisons: {
    none: 'Sem comparação',
    previous_period: 'Com o período anterior',
    previous_year: 'Com o ano anterior',
  },
  csv: 'CSV',
  csvTitle: 'Descarregar estas estatísticas em CSV',
  print: 'Imprimir',
  forgetKey: 'Esquecer a chave',
  needsScript: 'Esta página precisa de JavaScript. As mesmas estatísticas estão em',
  updated: 'Atualizado · às {time}',
  notUpdated: 'Não atualizado · {time} ({age})',
  comparedWith: 'Comparado com {period}',
  previousValue: 'antes {value}',
  points: '{points} pp',
  revenue: 'Receitas',
  netOfAccepted: 'Valor líquido dos orçamentos aceites',
  withoutRate: {
    one: 'Sem {count} orçamento que não tem taxa de câmbio',
    other: 'Sem {count} orçamentos que não têm taxa de câmbio',
  },
  quotes: 'Orçamentos',
  accepted: 'Aceites',
  open: 'Em aberto',
  sentAndValid: 'Enviados e ainda válidos: {count}',
  lost: 'Perdidos',
  rejectedAndExpired: 'Recusados e expirados: {count}',
  acceptance: 'Aceitação',
  ofDecided: 'dos decididos',
  ofSent: 'dos enviados',
  byNumber: 'Por número',
  byValue: 'Por valor',
  outOf: '{part} de {whole}',
  daysToDecision: 'Dias até à decisão',
  median: 'Mediana',
  mean: 'Média',
  medianAndMean: 'Mediana; a média é {mean}',
  decidedOnKnownDay: 'Com dia de decisão: {count}',
  average: 'Valor médio',
  perAccepted: 'Por orçamento aceite',
  loading: 'A carregar…',
  trail: 'Caminho',
  timeline: 'Ao longo do tempo',
  days: 'Dias',
  months: 'Meses',
  years: 'Anos',
  table: 'Tabela',
  byDay: 'Orçamentos e receitas por dia',
  byMonth: 'Orçamentos e receitas por mês',
  byYear: 'Orçamentos e receitas por ano',
  day: 'Dia',
  month: 'Mês',
  year: 'Ano',
  partial: 'parcial',
  partialLegend: 'Incompleto',
  otherQuotes: 'Outros',
  revenueChartLabel:
    'Gráfico de colunas das receitas em {currency}, de {from} a {to}. A tabela abaixo ' +
    'contém os mesmos dados.',
  quotesChartLabel:
    'Gráfico de colunas dos orçamentos aceites e outros, de {from} a {to}. A tabela ' +
    'abaixo contém os mesmos dados.',
  quotesInPeriod: 'Orçamentos: {quotes}, dos quais aceites: {accepted}',
  byCountry: 'Por país',
  showAll: 'Mostrar os {count}',
  columns: 'Colunas',
  columnGroups: {
    revenue: 'Receitas',
    outcomes: 'Em aberto e perdidos',
    acceptance: 'Aceitação',
    days: 'Dias',
  },
  amountsIn: 'Valores em {currency}',
  acceptanceOfDecided: 'Aceitação dos decididos',
  byStatus: 'Por estado',
  statusHeading: 'Estado',
  share: '%',
  status: {
    draft: 'Rascunho',
    sent: 'Enviado',
    accepted: 'Aceite',
    rejected: 'Recusado',
    expired: 'Expirado',
    withdrawn: 'Retirado',
  },
  acceptedOnlyNote: 'Por data de aceitação só contam os orçamentos aceites',
  byCurrency: 'Por moeda',
  currency: 'Moeda',
  amount: 'Valor não convertido',
  ofWhichUnconverted: 'sem taxa de câmbio',
  currenciesNote: 'Os valores sem taxa de câmbio não fazem parte das receitas em {currency}.',
  breakdown: {
    heading: 'Clientes e produtos',
    customers: 'Clientes',
    customer: 'Cliente',
    noCustomer: 'Sem cliente',
    otherCustomers: {
      one: 'mais {count} cliente',
      other: 'mais {count} clientes',
    },
    products: 'Produtos dos orçamentos aceites',
    product: 'Produto',
    noSku: 'Sem referência',
    otherProducts: {
      one: 'mais {count} produto',
      other: 'mais {count} produtos',
    },
    lines: 'Linhas',
    linesWithoutRate: {
      one: 'Sem {count} linha que não tem taxa de câmbio',
      other: 'Sem {count} linhas que não têm taxa de câmbio',
    },
  },
  searches: {
    heading: 'O que se procura',
    summary: {
      one: 'Últimos {days} dias: {searches} pesquisa, {withoutResult} sem resultado.',
      other: 'Últimos {days} dias: {searches} pesquisas, das quais {withoutResult} sem resultado.',
    },
    frequent: 'Mais frequentes',
    unsuccessful: 'Sem resultado',
    words: 'Palavras que nenhum produto tem',
    text: 'Texto',
    count: 'Pesquisas',
    none: 'Nenhuma feita por cinco pessoas.',
    note: 'Um texto aparece quando cinco pessoas diferentes o procuraram.',
  },
  definitionsTitle: 'Definições',
  definedTerms: {
    revenue: 'Receitas:',
    open: 'Em aberto:',
    lost: 'Perdidos:',
    acceptance: 'Aceitação:',
    days: 'Dias até à decisão:',
  },
  definitions: {
    revenue:
      'valor líquido dos orçamentos aceites, cada um convertido à sua própria taxa de ' + 'câmbio.',
    open:
      'valor líquido dos orçamentos enviados que ainda são válidos hoje, sem os que não ' +
      'têm taxa de câmbio.',
    lost:
      'valor líquido dos orçamentos recusados e expirados, incluindo os enviados cuja ' +
      'validade terminou, sem os que não têm taxa de câmbio.',
    acceptance:
      'a parte aceite, por número de orçamentos e por valor líquido, dos decididos ' +
      '(aceites, recusados e expirados) e dos enviados (decididos e em aberto).',
    days:
      'dias da emissão à decisão dos orçamentos aceites e recusados com dia de decisão; ' +
      'metade foi decidida dentro da mediana.',
  },
  noRows: 'Não há dados neste período.',
  noQuotes: 'Não há orçamentos neste período.',
  showEverything: 'Mostrar tudo',
  announcement: '{period}. Orçamentos: {quotes}. Receitas: {revenue}',
  retry: 'Tentar agora',
  retryIn: 'Nova tentativa dentro de {seconds} s.',
  errors: {
    keyInvalid: 'Esta chave não é válida: desconhecida, expirada ou revogada.',
    scopeMissing: 'Falta a esta chave a permissão stats:read.',
    invalidFilter: 'Um filtro não é válido: {parameters}.',
    limited: 'Demasiados pedidos com esta chave ou do seu endereço.',
    unavailable: 'O serviço não está disponível de momento.',
    offline: 'Sem ligação à rede.',
    failed: 'O pedido falhou.',
  },
  keyHeading: 'Estas estatísticas precisam de uma chave',
  keyExplanation:
    'Uma chave secreta (tqs_…) com a permissão stats:read, do operador do serviço. Fica ' +
    'guardada só neste separador, até o fechar.',
  key: 'Chave',
  useKey: 'Mostrar as estatísticas',
  cancel: 'Cancelar',
  needsDetailScope: 'É precisa uma chave com a permissão stats:detail.',
  enterKey: 'Introduzir uma chave',
}

/** The page /. Its script fills in the {placeholders}. */
export const home: HomeTexts = {
  heading: 'Procurar, medir, orçamentar',
  intro:
    'Três coisas sobre o catálogo e os orçamentos, a funcionar aqui mesmo com os dados deste ' +
    'serviço, e o código para as ter nas suas páginas e programas.',
  needsScript:
    'As partes vivas desta página precisam de JavaScript; os exemplos de código funcionam sem ' +
    'ele.',
  copy: 'Copiar',
  copied: 'Copiado',
  responseSample: 'A resposta',
  docs: 'Documentação da API',
  search: {
    title: 'Procurar produtos',
    text:
      'Resultados a cada tecla, com erros de escrita, sinónimos e códigos exatos. Ctrl+K (⌘K) ' +
      'abre-a de qualquer lado.',
    label: 'Produto, palavra ou código',
    placeholder: 'Experimente «jumbo strage bag», «taladro» ou «85123a»',
    chosen: 'Escolhido: {name} · {sku} · {price}',
    noPrice: 'sem preço',
    tag: 'Na sua página: uma etiqueta, em qualquer origem da sua chave',
    pinnedTag: 'Ou exatamente esta versão, a substituir após cada atualização',
    keyOfService:
      'A chave mostrada é para páginas de {origin}. Para as suas, crie uma com a origem delas:',
    noKey: 'Crie uma chave para a origem da sua página:',
    createKey: 'Uma chave para a sua origem',
    curl: 'A partir de um programa',
  },
  stats: {
    title: 'Estatísticas',
    text: 'Orçamentos, aceitação e receitas, exatos ao cêntimo e em dia em dois segundos.',
    open: 'Abrir as estatísticas',
    needsKey:
      'As estatísticas pedem uma chave com a permissão stats:read: o painel pergunta por ela.',
    unavailable: 'As estatísticas não estão disponíveis neste momento.',
    curl: 'A partir de um programa',
  },
  quote: {
    title: 'Orçamento por ligação',
    text:
      'O cliente abre-o sem conta: página, PDF ou JSON. O que foi enviado não muda, mesmo que ' +
      'a base de dados mude.',
    open: 'Abrir o orçamento',
    unavailable: 'O orçamento não está disponível neste momento.',
    none: 'Aqui não se mostra nenhum. Uma ligação cria-se assim:',
    curl: 'O mesmo, em JSON ou em PDF',
  },
}

/** The palette. */
export const palette: PaletteTexts = {
  title: 'Procurar produtos',
  list: 'Produtos',
  close: 'Fechar: esc',
  favourites: 'Favoritos',
  recent: 'Recentes',
  popular: 'Mais orçamentados',
  count: (shown, total) => {
    if (total === 1) return '1 resultado'
    const of = shown < total ? `${shown} de ` : ''
    return `${of}${total >= 1000 ? '1000 ou mais' : total} resultados`
  },
  nothing: (query) => `Nada encontrado para «${query}»`,
  advice: 'Tente menos letras, outra palavra ou o código.',
  chosen: (name) => `Escolhido: ${name}`,
  notChosen: (query) => `Nada escolhido: a lista ainda não é de «${query}».`,
  marked: (name) => `Favorito: ${name}`,
  unmarked: (name) => `Já não é favorito: ${name}`,
  deleted: (name) => `«${name}» já não está no catálogo`,
  degraded: 'Pesquisa de reserva: os resultados podem estar incompletos',
  didYouMean: 'Queria dizer isto?',
  inexact: (name) => `Não é exato: Enter de novo escolhe «${name}»`,
  copied: (sku) => `Copiado: ${sku}`,
  more: (count) => `Mostrar mais ${count}`,
  failures: {
    offline: 'Sem ligação. Continua quando a ligação voltar.',
    unreachable: 'Não se chega à pesquisa. A tentar de novo…',
    unavailable: 'A pesquisa não está disponível de momento. A tentar de novo…',
    refused: 'A pesquisa não é válida.',
    unauthenticated: 'Sem acesso: a chave falta ou não é válida.',
    forbidden: 'Sem acesso: esta chave não pode procurar aqui.',
  },
  limited: (seconds) => `Demasiadas pesquisas. Continua dentro de ${seconds} s.`,
  hints: {
    move: 'mover',
    choose: 'escolher',
    chooseMore: 'escolher e continuar',
    favourite: 'favorito',
    copy: 'copiar o código',
  },
}
