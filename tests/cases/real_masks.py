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
# 1 HF 4D float mask, causal, left padding batch of 3
lens=[64,50,37]
def leftpad(L): return (np.arange(N)>=N-L)
m=np.stack([causal&leftpad(L)[None,:] for L in lens])[:,None]
S('hf4d_causal_leftpad_f32',hf(m)); S('hf4d_causal_leftpad_f16',hf(m,np.float16))
# HF _unmask_unattended: rows fully masked are opened to all (older versions)
u=m.copy()
for b in range(3):
    for r in range(N):
        if not u[b,0,r].any(): u[b,0,r,:]=True
S('hf4d_unmask_unattended_f32',hf(u))
# HF 4D right pad
rp=np.stack([causal&(np.arange(N)<L)[None,:] for L in lens])[:,None]; S('hf4d_causal_rightpad_f32',hf(rp))
# HF eager sum of two min => -inf overflow and min mixed
mm=hf(m).copy(); mm2=(np.where(causal,0,np.finfo(f).min)[None,None]+np.where(np.stack([leftpad(L) for L in lens])[:,None,None,:],0,np.finfo(f).min)).astype(f)
S('hf4d_sum_overflow_f32',mm2)
# -10000 style bias (BERT)
bert=np.stack([(1.0-(np.arange(N)<L))*-10000.0 for L in lens])[:,None,None,:].astype(f); S('bert_minus10000',bert)
# -1e9
S('neg1e9',np.where(causal,0,-1e9).astype(f)[None,None])
# 2 T5 prefix mask (prefix LM): prefix 16
pf=causal|(k<16); S('prefix_lm',pf)
pfb=np.stack([causal|(k<n) for n in (16,5,30)])[:,None]; S('prefix_lm_batch',pfb)
# prefix only bidirectional among prefix: k<16 open to all queries==PaliGemma; plus pad
pg=np.stack([(causal|(k<n))&((np.arange(N)<L)[None,:]) for n,L in ((16,64),(16,50),(16,37))])[:,None]; S('paligemma_prefix_pad',pg)
# T5 relative position bias  (finite bias)
rng=np.random.default_rng(0)
S('t5_relbias',(rng.standard_normal((1,4,N,N))).astype(f))
# ALiBi
sl=2.0**(-np.arange(1,5)*2)
al=np.where(causal[None],-sl[:,None,None]*(q-k)[None],-np.inf).astype(f)[None]; S('alibi_causal',al)
S('alibi_sym',(-sl[:,None,None]*np.abs(q-k)[None]).astype(f)[None])
# 3 document mask with pad
ids=np.array([0]*20+[1]*13+[2]*25+[-1]*6); doc=(ids[:,None]==ids[None])&(ids[:,None]>=0)
S('doc_pad',doc); S('doc_causal_pad',doc&causal)
# doc mask where pad tokens attend themselves (many stacks)
dp=(ids[:,None]==ids[None]); S('doc_padself_causal',dp&causal)
# batch of packed rows
ids2=np.array([0]*10+[1]*30+[2]*24); d2=(ids2[:,None]==ids2[None]); S('doc_causal_batch',np.stack([doc&causal,d2&causal])[:,None])
# 4 block diagonal unequal (xformers BlockDiagonal)
S('blockdiag_unequal',d2)
# cross block diag
qi=np.repeat([0,1,2],[5,9,2]); ki=np.repeat([0,1,2],[11,4,7]); S('blockdiag_cross',qi[:,None]==ki[None])
# 5 Longformer: symmetric window +-8 and global tokens 0, 17, 40
lf=(np.abs(q-k)<=8)
g=np.isin(np.arange(N),[0,17,40]); lf=lf|g[:,None]|g[None]; S('longformer',lf)
# Longformer with right pad
S('longformer_pad',lf&(np.arange(N)<50)[None])
# 6 BigBird: block 8: window 3 blocks, global first/last, 2 random blocks per row
nb=N//8; bb=np.zeros((nb,nb),bool)
for i in range(nb):
    for j in (i-1,i,i+1):
        if 0<=j<nb: bb[i,j]=1
    bb[i,rng.choice(nb,2,replace=False)]=1
bb[0]=bb[-1]=1; bb[:,0]=bb[:,-1]=1
S('bigbird',np.kron(bb,np.ones((8,8),bool)))
# 7 dilated window: stride 3, 4 keys, causal
d=q-k; S('dilated_window_causal',(d>=0)&(d%3==0)&(d<=9))
S('dilated_window_sym',(np.abs(d)%2==0)&(np.abs(d)<=8))
# 8 gemma-3 per layer: [6 layers] stack as heads? sliding 16 x5 and global
g3=np.stack([(causal&(q-k<16)) if i%6!=5 else causal for i in range(12)])[None]; S('gemma3_layers_as_heads',g3)
S('gemma3_layers_as_batch',g3.transpose(1,0,2,3))
# 9 Mistral window with left padding
mw=np.stack([(causal&(q-k<16)&leftpad(L)[None]) for L in lens])[:,None]; S('mistral_window_leftpad',mw)
# 10 tree attention Medusa: prompt 20 + tree of 12 nodes, queries only tree nodes
par=[-1,0,0,0,1,1,2,4,4,5,7,6]
T=len(par); tm=np.zeros((T,T),bool)
for i in range(T):
    j=i
    while j>=0: tm[i,j]=True; j=par[j]
S('medusa_tree_square',tm)
S('medusa_tree_with_prefix',np.concatenate([np.ones((T,20),bool),tm],1))
# 11 Llama 4 chunked local with left pad
ch=(q//16==k//16)&causal; S('llama4_chunk',ch)
S('llama4_chunk_leftpad',np.stack([(((q-(N-L))//16==(k-(N-L))//16)&causal&leftpad(L)[None]) for L in lens])[:,None])
# 12 image token bidirectional blocks (Gemma 3): causal | same image span
img=np.zeros(N,int); img[5:21]=1; img[30:46]=2
gi=causal|((img[:,None]==img[None])&(img[:,None]>0)); S('gemma3_images',gi)
gis=(causal&(q-k<16))|((img[:,None]==img[None])&(img[:,None]>0)); S('gemma3_images_sliding',gis)
S('gemma3_images_hf4d',hf(gi[None,None]))
# 13 StreamingLLM decode: 1 query x K keys sinks 4 + last 16
de=np.zeros((1,N),bool); de[:,:4]=1; de[:,-16:]=1; S('streaming_decode',de)
# 14 chunked prefill: 16 queries at offset 40, keys 56, window 24
qq=np.arange(40,56)[:,None]; kk=np.arange(56)[None]; S('chunked_prefill_window',(kk<=qq)&(qq-kk<24))
# 15 strided (Sparse Transformer) : local 8 + every 8th column
st=causal&((d<8)|((k%8)==7)); S('sparse_transformer_fixed',st)
st2=causal&((d<8)|(d%8==0)); S('sparse_transformer_strided',st2)
# 16 causal without diagonal (strict)
S('strict_causal',k<q)
# 17 shared prefix / shared question : prompt 20, answers 10,10,24 each see the prompt and themselves causal
ans=np.array([0]*20+[1]*10+[2]*10+[3]*24); sp=causal&((ans[:,None]==ans[None])|(ans[None]==0)); S('shared_prefix',sp)
# 18 block diffusion (BD3-LM) 2 x 32, block 8
h=N//2; bq=(q%h)//8; bk=(k%h)//8; x0q=q>=h; x0k=k>=h
S('block_diffusion',((bq==bk)&(x0q==x0k))|((bq>bk)&x0k&~x0q)|((bq>=bk)&x0k&x0q))
# 19 NATTEN 2d 8x8, kernel 3
yy,xx=np.divmod(np.arange(N),8); S('natten2d',(np.abs(yy[:,None]-yy[None])<=1)&(np.abs(xx[:,None]-xx[None])<=1))
# 20 Swin shifted window (1D ids in 2D): 8x8 windows 4
wid=(yy//4)*2+xx//4; S('swin_window',wid[:,None]==wid[None])
# 21 random eviction H2O-like: causal and some columns die
ev=causal.copy()
for c in rng.choice(N,30,replace=False): ev[min(N,c+rng.integers(5,30)):,c]=False
S('kv_eviction',ev)
# 22 encoder-decoder cross with both pads
S('cross_pads',((np.arange(20)<15)[:,None]&(np.arange(30)<22)[None])[None,None])
# 23 inverted torch MHA
S('mha_inverted',~causal)
S('mha_kpm',np.stack([np.arange(N)>=L for L in lens]))
# 24 one leaked cell in doc causal
lk=(doc&causal).copy(); lk[30,3]=True; S('one_leak',lk)
lk2=(doc&causal).copy(); lk2[50,35]=False; S('one_hole',lk2)
# 25 noise 1%
ns=causal^(rng.random((N,N))<0.01); S('noisy_causal',ns)
# 26 gpt-oss: window 128 keys alternate, heads
# 27 per-head mix
S('heads_mix',np.stack([causal,causal&(q-k<8),causal&(q-k<16),causal&((q-k<8)|(k<4))])[None])
# 28 llama-factory neat packing 2d mask
S('neat_packing',np.array([[1]*10+[2]*30+[3]*20+[0]*4]))
# float mask 0/1
S('float01',causal.astype(f)[None,None])
# int64 hf attention mask [B,S]
S('hf_attention_mask',np.stack([(np.arange(N)>=N-L).astype(np.int64) for L in lens]))
S('position_ids',np.array([list(range(20))+list(range(13))+list(range(31))]))
# jagged: sliding window bidirectional (ModernBERT local 8)
S('modernbert_local',(np.abs(q-k)<=4)[None,None]&(np.arange(N)<60)[None,None,None])
# causal with offset cache decode
S('decode_cache',np.ones((4,1,1,N),bool)&(np.arange(N)[None,None,None]<np.array([64,50,37,5])[:,None,None,None]))
# Qwen-VL mrope etc skip; Longformer dilated heads
# XLNet permutation mask
perm=rng.permutation(N); S('xlnet_perm',perm[:,None]>=perm[None])
# UL2/GLM : bidirectional prefix + causal for docs packed with prefix each
pfx={0:5,1:4,2:10}; starts={0:0,1:20,2:33}
pm=doc&(causal|np.array([[ (ids[j]>=0 and j-starts[ids[j]]<pfx[ids[j]]) for j in range(N)]])); S('packed_prefix_lm',pm)
