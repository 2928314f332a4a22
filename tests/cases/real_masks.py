"""Masks as real training and serving stacks hold them: 59 arrays of 64 tokens.

    python3 real_masks.py FOLDER
"""
import os
import sys

import numpy as np

out = sys.argv[1]
os.makedirs(out, exist_ok=True)
S = lambda name, array: np.save(os.path.join(out, name + ".npy"), array)
f=np.float32
N=64
q=np.arange(N)[:,None]; k=np.arange(N)[None,:]
causal=k<=q
def hf(m,dt=f): return np.where(m,dt(0),np.finfo(dt).min).astype(dt)
# 1. Hugging Face: 4D float mask, causal, a batch of 3 with left padding.
lens=[64,50,37]
def leftpad(L): return (np.arange(N)>=N-L)
m=np.stack([causal&leftpad(L)[None,:] for L in lens])[:,None]
S('hf4d_causal_leftpad_f32',hf(m)); S('hf4d_causal_leftpad_f16',hf(m,np.float16))
# Hugging Face, older versions (_unmask_unattended): rows without an open key are opened to all
# keys.
u=m.copy()
for b in range(3):
    for r in range(N):
        if not u[b,0,r].any(): u[b,0,r,:]=True
S('hf4d_unmask_unattended_f32',hf(u))
# Hugging Face: 4D float mask with right padding.
rp=np.stack([causal&(np.arange(N)<L)[None,:] for L in lens])[:,None]; S('hf4d_causal_rightpad_f32',hf(rp))
# Hugging Face, eager: the causal mask and the padding mask are added. Where both are closed, the
# sum of two least floats is -inf; elsewhere closed cells are the least float.
mm=hf(m).copy(); mm2=(np.where(causal,0,np.finfo(f).min)[None,None]+np.where(np.stack([leftpad(L) for L in lens])[:,None,None,:],0,np.finfo(f).min)).astype(f)
S('hf4d_sum_overflow_f32',mm2)
# BERT: a bias of -10000 for padding keys.
bert=np.stack([(1.0-(np.arange(N)<L))*-10000.0 for L in lens])[:,None,None,:].astype(f); S('bert_minus10000',bert)
# A causal mask with -1e9 for closed cells.
S('neg1e9',np.where(causal,0,-1e9).astype(f)[None,None])
# 2. Prefix LM as in T5: the first 16 keys are open to all queries.
pf=causal|(k<16); S('prefix_lm',pf)
pfb=np.stack([causal|(k<n) for n in (16,5,30)])[:,None]; S('prefix_lm_batch',pfb)
# PaliGemma: the keys of the prefix are open to all queries, the rest is causal; with padding.
pg=np.stack([(causal|(k<n))&((np.arange(N)<L)[None,:]) for n,L in ((16,64),(16,50),(16,37))])[:,None]; S('paligemma_prefix_pad',pg)
# T5: relative position bias, finite everywhere.
rng=np.random.default_rng(0)
S('t5_relbias',(rng.standard_normal((1,4,N,N))).astype(f))
# ALiBi: a bias that falls with the distance, causal and symmetric.
sl=2.0**(-np.arange(1,5)*2)
al=np.where(causal[None],-sl[:,None,None]*(q-k)[None],-np.inf).astype(f)[None]; S('alibi_causal',al)
S('alibi_sym',(-sl[:,None,None]*np.abs(q-k)[None]).astype(f)[None])
# 3. Documents with padding at the end, with and without a causal mask.
ids=np.array([0]*20+[1]*13+[2]*25+[-1]*6); doc=(ids[:,None]==ids[None])&(ids[:,None]>=0)
S('doc_pad',doc); S('doc_causal_pad',doc&causal)
# Causal documents whose padding tokens see each other, as in many stacks.
dp=(ids[:,None]==ids[None]); S('doc_padself_causal',dp&causal)
# A batch of two packed rows of causal documents.
ids2=np.array([0]*10+[1]*30+[2]*24); d2=(ids2[:,None]==ids2[None]); S('doc_causal_batch',np.stack([doc&causal,d2&causal])[:,None])
# 4. Blocks of different sizes on the diagonal (BlockDiagonalMask of xformers).
S('blockdiag_unequal',d2)
# Blocks of different numbers of queries and keys on the diagonal, for cross-attention.
qi=np.repeat([0,1,2],[5,9,2]); ki=np.repeat([0,1,2],[11,4,7]); S('blockdiag_cross',qi[:,None]==ki[None])
# 5. Longformer: a symmetric window of 8 tokens to each side, and the global tokens 0, 17 and 40.
lf=(np.abs(q-k)<=8)
g=np.isin(np.arange(N),[0,17,40]); lf=lf|g[:,None]|g[None]; S('longformer',lf)
# Longformer with right padding.
S('longformer_pad',lf&(np.arange(N)<50)[None])
# 6. BigBird with blocks of 8 tokens: a window of 3 blocks, global first and last blocks, and 2
# random blocks per row of blocks.
nb=N//8; bb=np.zeros((nb,nb),bool)
for i in range(nb):
    for j in (i-1,i,i+1):
        if 0<=j<nb: bb[i,j]=1
    bb[i,rng.choice(nb,2,replace=False)]=1
bb[0]=bb[-1]=1; bb[:,0]=bb[:,-1]=1
S('bigbird',np.kron(bb,np.ones((8,8),bool)))
# 7. Dilated window: every third key, 4 keys in total, causal; and one to both sides.
d=q-k; S('dilated_window_causal',(d>=0)&(d%3==0)&(d<=9))
S('dilated_window_sym',(np.abs(d)%2==0)&(np.abs(d)<=8))
# 8. Gemma 3: the masks of 12 layers stacked as heads or as a batch; each sixth layer is fully
# causal, the others have a window of 16.
g3=np.stack([(causal&(q-k<16)) if i%6!=5 else causal for i in range(12)])[None]; S('gemma3_layers_as_heads',g3)
S('gemma3_layers_as_batch',g3.transpose(1,0,2,3))
# 9. Mistral: a causal window with left padding.
mw=np.stack([(causal&(q-k<16)&leftpad(L)[None]) for L in lens])[:,None]; S('mistral_window_leftpad',mw)
# 10. Medusa: a tree of 12 draft tokens, whose queries see their ancestors; without and with a
# prompt of 20 tokens.
par=[-1,0,0,0,1,1,2,4,4,5,7,6]
T=len(par); tm=np.zeros((T,T),bool)
for i in range(T):
    j=i
    while j>=0: tm[i,j]=True; j=par[j]
S('medusa_tree_square',tm)
S('medusa_tree_with_prefix',np.concatenate([np.ones((T,20),bool),tm],1))
# 11. Llama 4: causal chunks of 16 tokens, also with left padding.
ch=(q//16==k//16)&causal; S('llama4_chunk',ch)
S('llama4_chunk_leftpad',np.stack([(((q-(N-L))//16==(k-(N-L))//16)&causal&leftpad(L)[None]) for L in lens])[:,None])
# 12. Gemma 3: causal, but tokens of the same image see each other.
img=np.zeros(N,int); img[5:21]=1; img[30:46]=2
gi=causal|((img[:,None]==img[None])&(img[:,None]>0)); S('gemma3_images',gi)
gis=(causal&(q-k<16))|((img[:,None]==img[None])&(img[:,None]>0)); S('gemma3_images_sliding',gis)
S('gemma3_images_hf4d',hf(gi[None,None]))
# 13. StreamingLLM, decoding: one query sees the first 4 keys and the last 16.
de=np.zeros((1,N),bool); de[:,:4]=1; de[:,-16:]=1; S('streaming_decode',de)
# 14. Chunked prefill: 16 queries that begin at position 40, 56 keys, a window of 24.
qq=np.arange(40,56)[:,None]; kk=np.arange(56)[None]; S('chunked_prefill_window',(kk<=qq)&(qq-kk<24))
# 15. Sparse Transformer: the last 8 keys, and every 8th column (fixed) or every 8th key back
# (strided).
st=causal&((d<8)|((k%8)==7)); S('sparse_transformer_fixed',st)
st2=causal&((d<8)|(d%8==0)); S('sparse_transformer_strided',st2)
# 16. Causal without the diagonal (strictly causal).
S('strict_causal',k<q)
# 17. Shared prompt: a prompt of 20 tokens and three answers; each answer sees the prompt and
# itself, causally.
ans=np.array([0]*20+[1]*10+[2]*10+[3]*24); sp=causal&((ans[:,None]==ans[None])|(ans[None]==0)); S('shared_prefix',sp)
# 18. Block diffusion (BD3-LM): 32 noisy and 32 clean tokens in blocks of 8.
h=N//2; bq=(q%h)//8; bk=(k%h)//8; x0q=q>=h; x0k=k>=h
S('block_diffusion',((bq==bk)&(x0q==x0k))|((bq>bk)&x0k&~x0q)|((bq>=bk)&x0k&x0q))
# 19. NATTEN: 8 x 8 pixels, each of which sees the 3 x 3 pixels around it.
yy,xx=np.divmod(np.arange(N),8); S('natten2d',(np.abs(yy[:,None]-yy[None])<=1)&(np.abs(xx[:,None]-xx[None])<=1))
# 20. Swin: 8 x 8 pixels in windows of 4 x 4 pixels.
wid=(yy//4)*2+xx//4; S('swin_window',wid[:,None]==wid[None])
# 21. Cache eviction as in H2O: causal, but 30 random keys are closed from some later query on.
ev=causal.copy()
for c in rng.choice(N,30,replace=False): ev[min(N,c+rng.integers(5,30)):,c]=False
S('kv_eviction',ev)
# 22. Cross-attention of an encoder-decoder, with padding of queries and keys.
S('cross_pads',((np.arange(20)<15)[:,None]&(np.arange(30)<22)[None])[None,None])
# 23. Masks of torch.nn.MultiheadAttention, in which True means closed.
S('mha_inverted',~causal)
S('mha_kpm',np.stack([np.arange(N)>=L for L in lens]))
# 24. Causal documents with one leaked cell, and with one missing cell.
lk=(doc&causal).copy(); lk[30,3]=True; S('one_leak',lk)
lk2=(doc&causal).copy(); lk2[50,35]=False; S('one_hole',lk2)
# 25. A causal mask with 1 % of its cells flipped at random.
ns=causal^(rng.random((N,N))<0.01); S('noisy_causal',ns)
# 27. A head each: causal, two windows, and a window with 4 sink keys.
S('heads_mix',np.stack([causal,causal&(q-k<8),causal&(q-k<16),causal&((q-k<8)|(k<4))])[None])
# 28. LLaMA-Factory, neat packing: a 2D mask of document numbers, with 0 for padding.
S('neat_packing',np.array([[1]*10+[2]*30+[3]*20+[0]*4]))
# A causal mask as floats 0 and 1.
S('float01',causal.astype(f)[None,None])
# Hugging Face's attention_mask [B,S] of int64: 1 for tokens, 0 for padding.
S('hf_attention_mask',np.stack([(np.arange(N)>=N-L).astype(np.int64) for L in lens]))
S('position_ids',np.array([list(range(20))+list(range(13))+list(range(31))]))
# ModernBERT, local layer: a window of 4 tokens to each side, with right padding.
S('modernbert_local',(np.abs(q-k)<=4)[None,None]&(np.arange(N)<60)[None,None,None])
# Decoding with a cache: one query, and a number of keys for each batch entry.
S('decode_cache',np.ones((4,1,1,N),bool)&(np.arange(N)[None,None,None]<np.array([64,50,37,5])[:,None,None,None]))
# XLNet: a token sees those that are not later in a random permutation.
perm=rng.permutation(N); S('xlnet_perm',perm[:,None]>=perm[None])
# UL2 or GLM: packed causal documents, in each of which all tokens see a prefix.
pfx={0:5,1:4,2:10}; starts={0:0,1:20,2:33}
pm=doc&(causal|np.array([[ (ids[j]>=0 and j-starts[ids[j]]<pfx[ids[j]]) for j in range(N)]])); S('packed_prefix_lm',pm)
