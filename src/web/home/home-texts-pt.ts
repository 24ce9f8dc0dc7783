// The Portuguese texts of the page /. Its script fills in the {placeholders}.
import type { HomeTexts } from './home-texts-es.ts'

export const homeTextsPt: HomeTexts = {
  heading: 'Procurar, medir, orçamentar',
  intro:
    'Três coisas sobre o catálogo e os orçamentos, a funcionar aqui mesmo com os dados deste ' +
    'serviço, e o código para as ter nas suas páginas e programas.',
  needsScript:
    'As partes vivas desta página precisam de JavaScript; os exemplos de código funcionam sem ' +
    'ele.',
  copy: 'Copiar',
  copied: 'Copiado',
  responseSample: 'A resposta começa assim',
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
