// The Portuguese texts of the palette.

/** @type {import('../palette.d.ts').PaletteTexts} */
export default {
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
